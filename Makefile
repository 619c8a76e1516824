# Two commands do everything: `make demo` and `make test`. Set SINEW_NO_INSTALL=1 to be told what is missing instead of
# having it installed.
JOBS := $(shell nproc)
# One more than processors: tests wait for browsers and for each other's processes.
TESTS := $(shell expr $(JOBS) + 1)

# The build looks for npm's packages when it is configured: they come first.
.NOTPARALLEL:
.PHONY: package python blender test-blender all build whole setup setup-test packages demo test test-all test-processors test-sanitize test-scalar fresh fuzz torture test-cuda cuda web format format-check bench figures measurements pictures suite install clean help

all: build

setup:
	@./tools/setup.sh build

setup-test:
	@./tools/setup.sh test

# Without npm's packages everything is built but the page of `sinew view`.
packages: setup
	@$(MAKE) -s node_modules/.package-lock.json || echo "npm ci failed: sinew view and sinew demo will have no page"

configure = cmake --preset release $(CMAKE_FLAGS) > build.log 2>&1 || { cat build.log; exit 1; }

# The tool, its page, and what it loads when it needs it.
build: packages
	@$(configure)
	@cmake --build build -j $(JOBS) --target tool

# The tests, the benchmarks and the Python module as well.
whole: setup-test packages
	@$(configure)
	@cmake --build build -j $(JOBS)

demo: node_modules/.package-lock.json build
	@build/sinew demo -o demo

test: node_modules/.package-lock.json whole
	@tools/run_tests.sh build $(TESTS) -LE long

# The long ones as well.
test-all: node_modules/.package-lock.json whole
	@tools/run_tests.sh build $(TESTS)

# The C tests with the BLAS kernels of other processors, and on one without AVX-512.
test-processors: node_modules/.package-lock.json whole
	@tools/test_processors.sh build $(TESTS)

test-sanitize: setup-test node_modules/.package-lock.json
	@cmake --preset sanitize $(CMAKE_FLAGS)
	@cmake --build build-sanitize -j $(JOBS)
	@tools/run_tests.sh build-sanitize $(JOBS) -LE long

test-scalar: setup-test node_modules/.package-lock.json
	@cmake --preset scalar $(CMAKE_FLAGS)
	@cmake --build build-scalar -j $(JOBS) --target test-programs
	@tools/run_tests.sh build-scalar $(JOBS) -LE long

# Both commands on a bare Debian 12, in a chroot made for it (as root): make fresh [SHARED=1]
fresh:
	@SHARED=$(SHARED) tools/fresh.sh

# Longer fuzzing than the suite's: make fuzz SECONDS=600
fuzz: whole
	@SINEW_FUZZ_SECONDS=$(or $(SECONDS),60) SINEW_SOURCE=. SINEW_BUILD=build SINEW=build/sinew bash test/test_fuzz.sh

# Hours of it, in parts that can be resumed: make torture ROUNDS=20
torture: whole
	@tools/torture.sh $(ROUNDS)

# The tool for several processes: mpirun -n 8 build-mpi/sinew rig ...
mpi: packages
	@./tools/setup.sh mpi
	@cmake --preset mpi $(CMAKE_FLAGS) > build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build build-mpi -j $(JOBS)

# Models of every kind on the GPU against the runtime's scalar path; skipped where there is no nvcc or no GPU.
test-cuda: whole
	@bash test/cuda/run.sh build/sinew build/cuda

node_modules/.package-lock.json: package.json package-lock.json | setup
	@npm ci --no-audit --no-fund --loglevel=error --fetch-retries=1
	@touch $@

# libsinew-cuda, where nvcc is installed.
cuda: build
	@cmake --build build -j $(JOBS) --target sinew-cuda-shared

# The npm package sinew-skin: web/dist, and as a tarball beside it.
web: node_modules/.package-lock.json build
	@[ -e build/page_runtime.wasm ] || { echo "make web needs clang, lld and wasi-libc (tools/setup.sh)"; exit 1; }
	@cmake --build build -j $(JOBS) --target web-runtime
	@node web/package.mjs build/page_runtime.wasm web/dist
	@cd web/dist && npm pack --silent --pack-destination ..

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

format-check:
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

bench: whole
	@for b in build/bench_*; do [ -x $$b ] && $$b || exit 1; done

# The documents' figures and tables, over generated sets where their data cannot be had: docs/figures/README.md
figures: whole
	@tools/documents.py

# The tables of docs/measurements.md that tools/measure.py makes.
measurements: build
	@tools/measure.py

# The pictures of README.md and of the guides, from the page as it is.
pictures: node_modules/.package-lock.json build
	@tools/pictures.sh

# Every method on every pair of clips of every character: docs/measurements.md. make suite [QUICK=1] [GROUP=A]
suite: build
	@lab/suite/suite.py --group $(or $(GROUP),all) $(if $(QUICK),--quick) --compare lab/suite/baseline.json

# The wheel of the Python module, build/wheel/sinew-*.whl; installs nothing.
python:
	@./tools/setup.sh python
	@$(configure)
	@cmake --build build -j $(JOBS) --target sinew-python
	@rm -rf python/build python/sinew.egg-info build/wheel
	@/usr/bin/python3 -m pip wheel -q --no-build-isolation --no-index --no-deps --disable-pip-version-check -w build/wheel ./python
	@rm -rf python/build python/sinew.egg-info
	@ls build/wheel/*.whl

# Debian packages of the tool, the libraries and the Python module, build/packages/*.deb.
package: whole
	@tools/package.sh build build/packages

# The Blender add-on with the module inside, build/sinew-blender.zip.
blender: python
	@rm -rf build/blender build/sinew-blender.zip
	@mkdir -p build/blender && cp -r blender/sinew_blender build/blender/
	@/usr/bin/python3 -m zipfile -e build/wheel/sinew-*.whl build/blender/wheel
	@mv build/blender/wheel/sinew build/blender/sinew_blender/ && find build/blender -name __pycache__ -prune -exec rm -r {} +
	@cd build/blender && /usr/bin/python3 -m zipfile -c ../sinew-blender.zip sinew_blender
	@echo build/sinew-blender.zip

# The add-on as it is installed from its zip, inside Blender without a window.
test-blender: blender
	@SINEW_ZIP=$(CURDIR)/build/sinew-blender.zip SINEW=build/sinew SINEW_SOURCE=$(CURDIR) SINEW_BUILD=$(CURDIR)/build bash test/test_blender_addon.sh

install: build
	@cmake --build build -j $(JOBS) --target release
	@cmake --install build $(if $(PREFIX),--prefix $(PREFIX))

clean:
	@rm -rf build build-* build.log demo figures web/dist web/*.tgz

help:
	@echo "make            build the release: build/sinew"
	@echo "make demo       set up, build, and run the demonstration"
	@echo "make test       set up, build, and run the tests; make test-all the long ones too"
	@echo "make test-processors   tests with the BLAS kernels of other processors, and without AVX-512"
	@echo "make fresh      both commands on a bare Debian 12 (as root)"
	@echo "make cuda       build libsinew-cuda, where nvcc is installed"
	@echo "make web        build the npm package sinew-skin: web/dist and a tarball"
	@echo "make bench      run the benchmarks"
	@echo "make figures    the papers' figures in figures/, and their tables beside ours in docs/figures/"
	@echo "make pictures   renew the pictures of the documentation"
	@echo "make suite      every method on every pair of clips, against lab/suite/baseline.json (QUICK=1: few vertices)"
	@echo "make python     build the wheel of the Python module"
	@echo "make blender    build the Blender add-on; make test-blender tests it"
	@echo "make mpi        build-mpi/sinew, for mpirun"
	@echo "make package    build Debian packages"
	@echo "make install    install the tool and both libraries (PREFIX=...)"
	@echo "make test-sanitize | test-scalar | test-cuda | fuzz | torture | format | format-check | clean"
