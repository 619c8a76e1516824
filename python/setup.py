# SPDX-License-Identifier: MIT
"""The wheel: the package, and under sinew/lib the library with what it needs beyond the C library.

The library is build/python/libsinew-python.so of the repository, built here if it is not there yet; SINEW_LIBRARY names
another one, and SINEW_BUNDLE=0 leaves its dependencies to the system (Debian's package).
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel

REPOSITORY = Path(__file__).resolve().parent.parent
# Every Linux has these; a second copy of the C library in a process does not work.
SYSTEM = re.compile(r"^(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so)")


def version():
    header = (REPOSITORY / "include/sinew/base.h").read_text()
    return re.search(r'#define SN_VERSION "([^"]+)"', header).group(1)


def library():
    if "SINEW_LIBRARY" in os.environ:
        return Path(os.environ["SINEW_LIBRARY"])
    built = REPOSITORY / "build/python/libsinew-python.so"
    if not built.exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=REPOSITORY, check=True)
        subprocess.run(["cmake", "--build", "build", "--target", "sinew-python"], cwd=REPOSITORY, check=True)
    return built


def dependencies(path):
    if os.environ.get("SINEW_BUNDLE") == "0":
        return
    for line in subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, where = line.strip().partition(" => ")
        if where and not SYSTEM.match(name):
            yield name, where.split()[0]


class build_with_library(build_py):
    def run(self):
        super().run()
        folder = Path(self.build_lib) / "sinew/lib"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library(), folder / "libsinew-python.so")
        for name, where in dependencies(library()):
            shutil.copyfile(where, folder / name)
        shutil.copyfile(REPOSITORY / "LICENSE", folder / "LICENSE")


class any_python(bdist_wheel):
    """Not for one Python: the library knows nothing about it."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class with_library(Distribution):
    def has_ext_modules(self):
        return True


setup(
    name="sinew",
    version=version(),
    description="Learns a real-time skin from example meshes",
    license="MIT",
    python_requires=">=3.9",
    install_requires=["numpy"],
    packages=["sinew"],
    package_data={"sinew": ["py.typed", "*.pyi"]},
    cmdclass={"build_py": build_with_library, "bdist_wheel": any_python},
    distclass=with_library,
)
