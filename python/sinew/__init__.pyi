# SPDX-License-Identifier: MIT
import os
from typing import Any, Callable, Dict, List, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

__version__: str

Path = Union[str, "os.PathLike[str]"]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Progress = Union[bool, Callable[[str, float], Optional[bool]], None]
Report = Dict[str, Any]
Rest = Union[Path, "Mesh"]
Clips = Union[Path, npt.ArrayLike, Sequence[Union[Path, npt.ArrayLike]]]
Skeletons = Union[Path, "Skeleton", Sequence[Union[Path, "Skeleton"]], None]
Adjust = Union[float, str, Sequence[str], None]
Inputs = Union[npt.ArrayLike, Dict[str, npt.ArrayLike], None]
Values = Union[Path, Dict[str, npt.ArrayLike], None]
Poses = Union[Dict[int, Path], Sequence[str], None]
Names = Union[str, Sequence[str], None]
Keys = Union[str, Sequence[int], npt.NDArray[np.int32]]
Out = Union[Floats, Tuple[Floats, Floats], Tuple[Floats, Floats, Floats]]

class Error(RuntimeError):
    status: str
    def __init__(self, message: str, status: str = ...) -> None: ...

class Stopped(Error): ...

class Frames(npt.NDArray[np.float32]):
    rate: float
    def __new__(cls, positions: npt.ArrayLike, rate: float = ...) -> "Frames": ...
    def save(self, path: Path, mesh: Optional["Mesh"] = ...) -> None: ...

class Mesh:
    positions: Floats
    triangles: npt.NDArray[np.int32]
    normals: Optional[Floats]
    split: bool
    def __init__(
        self,
        positions: npt.ArrayLike,
        triangles: npt.ArrayLike,
        normals: Optional[npt.ArrayLike] = ...,
        split: bool = ...,
    ) -> None: ...
    @property
    def diagonal(self) -> float: ...

class Skeleton:
    names: List[str]
    parents: npt.NDArray[np.int32]
    rest: Doubles
    poses: Doubles
    joints: Optional[npt.NDArray[np.uint16]]
    weights: Optional[Floats]
    mesh: Optional[Mesh]
    def __init__(
        self,
        names: Sequence[str],
        parents: npt.ArrayLike,
        rest: npt.ArrayLike,
        poses: Optional[npt.ArrayLike] = ...,
        joints: Optional[npt.ArrayLike] = ...,
        weights: Optional[npt.ArrayLike] = ...,
        mesh: Optional[Mesh] = ...,
    ) -> None: ...
    def __len__(self) -> int: ...
    def places(self) -> Doubles: ...
    def moved(self) -> Doubles: ...

class Model:
    info: Dict[str, Any]
    report: Optional[Report]
    names: List[str]
    parents: npt.NDArray[np.int32]
    values: List[str]
    def __init__(self, source: Union[Path, bytes, npt.NDArray[np.uint8]], report: Optional[Report] = ...) -> None: ...
    @overload
    def __call__(
        self,
        joints: Optional[npt.ArrayLike] = ...,
        controls: Optional[npt.ArrayLike] = ...,
        torques: Optional[npt.ArrayLike] = ...,
        values: Inputs = ...,
        *,
        out: Optional[Out] = ...,
        state: Optional[npt.NDArray[np.int32]] = ...,
        tangents: Literal[False] = ...,
    ) -> Tuple[Floats, Floats]: ...
    @overload
    def __call__(
        self,
        joints: Optional[npt.ArrayLike] = ...,
        controls: Optional[npt.ArrayLike] = ...,
        torques: Optional[npt.ArrayLike] = ...,
        values: Inputs = ...,
        *,
        out: Optional[Out] = ...,
        state: Optional[npt.NDArray[np.int32]] = ...,
        tangents: bool,
    ) -> Tuple[Floats, Floats, Floats]: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...
    @property
    def bytes(self) -> npt.NDArray[np.uint8]: ...
    @property
    def mesh(self) -> Mesh: ...
    @property
    def skeleton(self) -> Skeleton: ...
    def save(self, path: Path) -> None: ...
    def packed(self, order: Optional[str] = ...) -> "Model": ...
    def error(
        self,
        frames: Clips,
        skeleton: Skeletons = ...,
        *,
        rest: Optional[Rest] = ...,
        torques: Union[Path, npt.ArrayLike, None] = ...,
        values: Values = ...,
        controls: Union[str, Sequence[int], None] = ...,
        clip: Names = ...,
        fps: float = ...,
        object: Names = ...,
        match: Optional[Path] = ...,
        map: Optional[Path] = ...,
        scale: Adjust = ...,
        axes: Adjust = ...,
        offset: Adjust = ...,
        threads: int = ...,
    ) -> Report: ...
    def export(self, path: Path, skeleton: Path, to: str) -> Report: ...
    def evaluate(
        self,
        path: Path,
        skeleton: Union[Path, Sequence[Path], None] = ...,
        *,
        values: Optional[Path] = ...,
        controls: Optional[Path] = ...,
        torques: Optional[Path] = ...,
        rest: Optional[Path] = ...,
        frames: Union[Path, Sequence[Path], None] = ...,
        clip: Names = ...,
        fps: float = ...,
        object: Names = ...,
        match: Optional[Path] = ...,
        map: Optional[Path] = ...,
        scale: Adjust = ...,
        axes: Adjust = ...,
        offset: Adjust = ...,
        unordered: bool = ...,
        threads: int = ...,
        progress: Progress = ...,
    ) -> Report: ...
    def weights(self) -> Tuple[npt.NDArray[np.uint16], Floats]: ...
    def retarget(self, skeleton: Skeleton, map: Optional[Path] = ...) -> Skeleton: ...
    def joints(self, skeleton: Skeleton) -> Floats: ...
    def bind(self, rest: npt.ArrayLike) -> Floats: ...
    def new_state(self) -> Optional[npt.NDArray[np.int32]]: ...
    def time(
        self,
        joints: Optional[npt.ArrayLike] = ...,
        controls: Optional[npt.ArrayLike] = ...,
        torques: Optional[npt.ArrayLike] = ...,
        repeats: int = ...,
        values: Inputs = ...,
    ) -> float: ...
    def palette(
        self,
        joints: Optional[npt.ArrayLike] = ...,
        controls: Optional[npt.ArrayLike] = ...,
        torques: Optional[npt.ArrayLike] = ...,
        values: Inputs = ...,
        *,
        state: Optional[npt.NDArray[np.int32]] = ...,
    ) -> Floats: ...

class Rig:
    skeleton: Skeleton
    model: Model
    report: Report
    frame_rms: Doubles
    vertex_rms: Doubles
    def save(self, path: Path, fps: Optional[float] = ...) -> None: ...

def load(path: Path, **options: Any) -> Union[Model, Mesh, Frames, Skeleton]: ...
def load_mesh(path: Path, object: Names = ..., scale: Adjust = ..., axes: Adjust = ...) -> Mesh: ...
def load_frames(
    path: Path,
    fps: float = ...,
    clip: Union[str, int, None] = ...,
    object: Names = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
) -> Frames: ...
def load_skeleton(
    path: Path,
    clip: Union[str, int, None] = ...,
    fps: float = ...,
    still: bool = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
) -> Skeleton: ...
def methods() -> Dict[str, Dict[str, Any]]: ...
def keys(
    spec: Keys, of: Union[int, Skeleton, Path], seed: int = ..., *, clip: Union[str, int, None] = ..., fps: float = ...
) -> npt.NDArray[np.int32]: ...
def rig(
    rest: Rest,
    frames: Clips,
    bones: Union[int, str] = ...,
    *,
    skeleton: Skeletons = ...,
    solve: str = ...,
    lock: Names = ...,
    keep_weights: bool = ...,
    rest_frame: Union[int, str, None] = ...,
    keep_bones: bool = ...,
    heat: bool = ...,
    keys: Keys = ...,
    clip: Names = ...,
    fps: float = ...,
    object: Names = ...,
    match: Optional[Path] = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
    threads: int = ...,
    seed: int = ...,
    progress: Progress = ...,
    **options: Any,
) -> Rig: ...
def train(
    method: Union[str, Model],
    rest: Optional[Rest] = ...,
    frames: Optional[Clips] = ...,
    skeleton: Skeletons = ...,
    keys: Keys = ...,
    *,
    torques: Union[Path, npt.ArrayLike, None] = ...,
    values: Values = ...,
    controls: Union[str, Sequence[int], None] = ...,
    pose: Poses = ...,
    mirror: Optional[str] = ...,
    max_bytes: float = ...,
    max_time: float = ...,
    max_error: float = ...,
    curve: bool = ...,
    test_frames: Optional[Clips] = ...,
    test_skeleton: Skeletons = ...,
    clip: Names = ...,
    fps: float = ...,
    object: Names = ...,
    match: Optional[Path] = ...,
    map: Optional[Path] = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
    measure: bool = ...,
    threads: int = ...,
    seed: int = ...,
    progress: Progress = ...,
    **options: Any,
) -> Model: ...
def compare(
    methods: Union[str, Sequence[str]],
    rest: Rest,
    frames: Optional[Clips] = ...,
    skeleton: Skeletons = ...,
    keys: Keys = ...,
    *,
    loocv: bool = ...,
    torques: Union[Path, npt.ArrayLike, None] = ...,
    values: Values = ...,
    controls: Union[str, Sequence[int], None] = ...,
    pose: Poses = ...,
    models: Optional[Path] = ...,
    test_frames: Optional[Clips] = ...,
    test_skeleton: Skeletons = ...,
    clip: Names = ...,
    fps: float = ...,
    object: Names = ...,
    match: Optional[Path] = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
    threads: int = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> Report: ...
def vertex_errors(model: Model, rest: Rest, frames: Clips, skeleton: Skeletons = ..., **options: Any) -> Doubles: ...

class Chart:
    def save(self, path: Path) -> None: ...

def info(path: Path) -> Report: ...
def convert(
    source: Path,
    target: Path,
    *,
    rest: Optional[Path] = ...,
    clip: Names = ...,
    fps: float = ...,
    object: Names = ...,
    scale: Adjust = ...,
    axes: Adjust = ...,
    offset: Adjust = ...,
) -> None: ...
def plot(lines: Dict[str, Any], title: str = ..., x: str = ..., y: str = ...) -> Chart: ...
