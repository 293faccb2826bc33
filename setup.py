"""What pyproject.toml cannot say: the extension module is built by CMake, with the library inside.

Environment: MPI_CXX_COMPILER names the MPI, LAPWING_CMAKE_OPTIONS more options of CMake, CMAKE_BUILD_PARALLEL_LEVEL the number of
compilers at a time.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildWithCMake(build_ext):
    def build_extension(self, extension):
        source = Path(__file__).resolve().parent
        build = Path(self.build_temp).resolve() / "lapwing"
        build.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("MPI_CXX_COMPILER")
        subprocess.run(
            [
                "cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DLAPWING_BUILD_PYTHON=ON", "-DLAPWING_BUILD_TESTS=OFF",
                "-DLAPWING_BUILD_BENCHMARKS=OFF", "-DLAPWING_BUILD_EXAMPLES=OFF", "-DLAPWING_BUILD_TOOLS=OFF", "-DLAPWING_OTF2=OFF",
                f"-DPython3_EXECUTABLE={sys.executable}", *([f"-DMPI_CXX_COMPILER={compiler}"] if compiler else []),
                *shlex.split(os.environ.get("LAPWING_CMAKE_OPTIONS", "")),
            ],
            check=True,
        )  # fmt: skip
        subprocess.run(["cmake", "--build", build, "--target", "lapwing_python", "--parallel", os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))], check=True)
        # The sources of the package are there by setuptools: of what CMake has installed, the module alone is wanted.
        to = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        to.mkdir(parents=True, exist_ok=True)
        modules = list((build / "bindings/python/lapwing").glob("_core_*.so"))
        for module in modules:
            self.copy_file(str(module), str(to / module.name))
        if len(modules) != 1:
            raise RuntimeError(f"CMake built {len(modules)} modules _core_MPI in {build}; remove that directory and try again")

    def get_outputs(self):
        return [str(path) for path in Path(self.build_lib, "lapwing").glob("_core_*.so")]


setup(ext_modules=[Extension("lapwing._core", sources=[])], cmdclass={"build_ext": BuildWithCMake})
