# The recipe of Spack: put this directory as packages/lapwing into a repository of recipes (spack repo create), name where the sources
# are in `git`, and spack install lapwing ^openmpi or ^mpich.
from spack.package import *


class Lapwing(CMakePackage):
    """Global arrays, windows, a cache for remote data and prefetch on MPI-3 one-sided communication, in C++, C, Fortran and Python."""

    # There is no public place of the sources yet.
    homepage = "https://example.org/lapwing"
    git = "https://example.org/lapwing.git"

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("shared", default=True, description="A shared library in place of a static one")
    variant("c", default=True, description="The C interface")
    variant("fortran", default=True, description="The Fortran module")
    variant("python", default=False, description="The Python package")
    variant("tools", default=True, description="lapwing-info and lapwing-tune")
    variant("upcc", default=False, description="lapwing-upcc, a compiler for UPC programs")
    variant("otf2", default=False, description="Archives in the Open Trace Format 2 (LAPWING_TOOLS=otf2:DIRECTORY)")
    variant("checks", default="1", values=("0", "1", "2", "3"), description="What the library checks")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("mpi@3.1:")
    depends_on("boost@1.74:")
    depends_on("fmt@9:")
    depends_on("highway@1.0:")
    depends_on("xxhash@0.8:")
    depends_on("cli11@2.1:", when="+tools")
    depends_on("nlohmann-json@3.9:", when="+tools")
    depends_on("otf2@3:", when="+otf2")
    depends_on("llvm@15: +clang", when="+upcc")
    extends("python", when="+python")
    with when("+python"):
        depends_on("python@3.9:", type=("build", "run"))
        depends_on("py-numpy@1.22:", type=("build", "run"))
        depends_on("py-cffi@1.15:", type=("build", "run"))

    conflicts("+fortran", when="~c", msg="the Fortran module is built on the C interface")
    conflicts("+python", when="~c", msg="the Python package is built on the C interface")
    conflicts("+upcc", when="~tools", msg="lapwing-upcc is one of the tools")
    conflicts("%gcc@:11", msg="Lapwing is C++20: GCC 12 or later")
    conflicts("%clang@:13", msg="Lapwing is C++20: Clang 14 or later")

    def cmake_args(self):
        spec = self.spec
        arguments = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("LAPWING_BUILD_C", "c"),
            self.define_from_variant("LAPWING_BUILD_FORTRAN", "fortran"),
            self.define_from_variant("LAPWING_BUILD_TOOLS", "tools"),
            self.define_from_variant("LAPWING_ASSERTION_LEVEL", "checks"),
            self.define_from_variant("LAPWING_OTF2", "otf2"),
            self.define("LAPWING_BUILD_PYTHON", "ON" if spec.satisfies("+python") else "OFF"),
            self.define("LAPWING_BUILD_TESTS", self.run_tests),
            self.define("LAPWING_BUILD_BENCHMARKS", False),
            self.define("LAPWING_BUILD_EXAMPLES", False),
            self.define("LAPWING_DEPENDENCIES", "system"),
            self.define("MPI_CXX_COMPILER", spec["mpi"].mpicxx),
            # Where there is none it is not looked for in the system.
            self.define("LAPWING_UPCC_LLVM", spec["llvm"].prefix if spec.satisfies("+upcc") else "/nowhere"),
        ]
        if spec.satisfies("+fortran"):
            arguments.append(self.define("MPI_Fortran_COMPILER", spec["mpi"].mpifc))
        if spec.satisfies("+python"):
            arguments.append(self.define("Python3_EXECUTABLE", spec["python"].command.path))
            arguments.append(self.define("LAPWING_INSTALL_PYTHONDIR", python_platlib))
        return arguments
