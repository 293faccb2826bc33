#!/usr/bin/env python3
"""Which MPI scripts/launch takes a program for, and which mpirun it starts it with.

  launch_test.py LAUNCH C-COMPILER [unittest option…]

Libraries with the sonames and symbols of many MPIs, and programs linked to them, are made in a temporary directory. The
starters are scripts there that say what those of the MPIs say.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCH, COMPILER = "", ""

# Open MPI's libraries have names that begin with MPIR_, too.
OPEN_MPI = "int ompi_mpi_comm_world, MPIR_debug_gate; void MPIR_Breakpoint(void) {} "
MPICH = "int MPIR_Dup_fn(void) { return 0; } int MPIR_Err_create_code(void) { return 0; } "
CALLS = "int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }"
# As MPI_COMM_WORLD of Open MPI's mpi.h does.
USES_WORLD = "extern int ompi_mpi_comm_world; " + CALLS.replace("MPI_Init(0,", "MPI_Init(&ompi_mpi_comm_world,")

VERSIONS = {
    "openmpi 4": "mpirun (OpenRTE) 4.1.4",
    "openmpi 4.0": "mpirun (Open MPI) 4.0.3",
    "openmpi 5": "mpirun (Open MPI) 5.0.7",
    "prrte": "prterun (PRRTE) 3.0.8",
    "mpich": "HYDRA build details:\n    Version:                                 4.0.2",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307",
    "unknown": "slurm 22.05.8",
}
TOOLS = "bash basename cat dirname env grep ldd ls mktemp nproc realpath rm sed sleep timeout".split()


class Case(unittest.TestCase):
    def setUp(self):
        # Outside of /usr, beside whose libraries there are real starters.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="launch_test.")).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        tools = self.root / "tools"
        tools.mkdir()
        for tool in TOOLS:
            (tools / tool).symlink_to(shutil.which(tool))
        self.path = [str(tools)]

    def compile(self, output, source, *options):
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([COMPILER, "-x", "c", "-", "-x", "none", "-o", output, *map(str, options)], input=source, text=True, check=True)

    def library(self, name, symbols, soname="", directory="prefix/lib", options=()):
        """A library that has MPI_Init; with a longer name than its soname it gets the link that programs look for."""
        file = self.root / directory / name
        self.compile(file, symbols + "int MPI_Init(void *a, void *b) { return a == b; }", "-shared", "-fPIC", f"-Wl,-soname,{soname or name}", *options)
        if soname:
            (file.parent / soname).symlink_to(name)
        return file

    def program(self, libraries, source=CALLS):
        file = self.root / "program"
        options = [option for library in libraries for option in (library, f"-Wl,-rpath,{library.parent}")]
        self.compile(file, source, "-Wl,--no-as-needed", *options)
        return file

    def starter(self, file, version):
        file = self.root / file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{VERSIONS[version]}" && exit\necho "started by $0 $*"\n')
        file.chmod(0o755)
        return file

    def launch(self, *arguments):
        environment = {**os.environ, "PATH": ":".join(self.path)}
        run = subprocess.run([LAUNCH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        return run.returncode, run.stdout.strip()

    def expect(self, exit_code, text, *arguments):
        code, output = self.launch(*arguments)
        self.assertIn(text, output)
        self.assertEqual(code, exit_code, output)
        return output


class WhichMpi(Case):
    def check(self, expected, *library, **options):
        self.assertEqual(self.launch("--which-mpi", self.program([self.library(*library)], **options)), (0, expected))

    def refused(self, expected, program):
        self.expect(1, f"cannot tell which MPI {program} uses: {expected}", "--which-mpi", program)

    def test_mpich_of_debian(self):
        self.check("mpich", "libmpich.so.12", "")

    def test_mpich_intel_mpi_mvapich(self):
        self.check("mpich", "libmpi.so.12", MPICH)

    def test_cray_mpich(self):
        self.check("mpich", "libmpi_cray.so.12", "")

    def test_cray_mpich_for_gnu(self):
        self.check("mpich", "libmpi_gnu_123.so.12", "")

    def test_standard_abi(self):
        self.check("mpich", "libmpi_abi.so.0", MPICH)

    def test_open_mpi_1(self):
        self.check("openmpi 4", "libmpi.so.12", OPEN_MPI)

    def test_open_mpi_4(self):
        self.check("openmpi 4", "libmpi.so.40.30.4", "", "libmpi.so.40")

    def test_open_mpi_5(self):
        self.check("openmpi 5", "libmpi.so.40.40.7", OPEN_MPI, "libmpi.so.40", source=USES_WORLD)

    def test_open_mpi_for_fortran(self):
        libraries = [self.library("libmpi_mpifh.so.40.30.0", OPEN_MPI, "libmpi_mpifh.so.40"),
                     self.library("libmpi.so.40.40.7", OPEN_MPI, "libmpi.so.40")]
        self.assertEqual(self.launch("--which-mpi", self.program(libraries)), (0, "openmpi 5"))

    def test_open_mpi_under_another_name(self):
        self.check("openmpi", "libmpi_ibm.so.3", OPEN_MPI)

    def test_unknown(self):
        self.refused("its libmpi.so.0 is neither Open MPI's nor an MPICH's", self.program([self.library("libmpi.so.0", "")]))

    def test_through_another_library(self):
        mpi = self.library("libmpi.so.12", MPICH)
        user = self.root / "prefix/lib/libuser.so"
        self.compile(user, "int MPI_Init(void *, void *); int use(void) { return MPI_Init(0, 0); }", "-shared", "-fPIC", mpi,
                     f"-Wl,-rpath,{mpi.parent}", "-Wl,-soname,libuser.so")
        self.assertEqual(self.launch("--which-mpi", self.program([user], "int use(void); int main(void) { return use(); }")), (0, "mpich"))

    def test_two(self):
        one = self.library("libmpi.so.40", OPEN_MPI)
        other = self.library("libmpich.so.12", MPICH)
        self.refused("it is linked to two: ", self.program([one, other]))

    # Libraries of names that no system has, or another one would be found in their place.
    def test_missing_library(self):
        library = self.library("libmpi.so.11", "")
        program = self.program([library])
        library.unlink()
        self.refused("its libmpi.so.11 is not found", program)

    def test_missing_library_of_open_mpi(self):
        library = self.library("libmpi.so.11", OPEN_MPI)
        program = self.program([library], USES_WORLD)
        library.unlink()
        self.assertEqual(self.launch("--which-mpi", program), (0, "openmpi 4"))

    def test_linked_statically(self):
        for symbols, expected in ((MPICH, "mpich"), (OPEN_MPI, "openmpi")):
            program = self.program([], symbols + "int main(void) { return 0; }")
            self.assertEqual(self.launch("--which-mpi", program), (0, expected))

    def test_none(self):
        self.refused("it is not linked to one", self.program([], "int main(void) { return 0; }"))


class Starter(Case):
    def open_mpi(self, generation):
        name = {4: "libmpi.so.40.30.4", 5: "libmpi.so.40.40.7"}[generation]
        return self.program([self.library(name, OPEN_MPI, "libmpi.so.40")])

    def mpich(self):
        return self.program([self.library("libmpi.so.12", MPICH)])

    def in_path(self, directory, **starters):
        self.path.append(str(self.root / directory))
        return {name: self.starter(f"{directory}/{name}", version) for name, version in starters.items()}

    def test_beside_the_library(self):
        self.in_path("a", mpirun="mpich", mpiexec="openmpi 4")
        expected = self.starter("prefix/bin/mpiexec.hydra", "intel")
        self.expect(0, f"started by {expected} ", "-n", 1, self.mpich())

    def test_each_in_path(self):
        self.in_path("a", mpirun="openmpi 4", mpiexec="mpich")
        expected = self.in_path("b", mpirun="openmpi 5")["mpirun"]
        self.expect(0, f"started by {expected} ", "-n", 1, self.open_mpi(5))

    def test_mpich_in_path(self):
        expected = self.in_path("a", mpirun="openmpi 4", mpiexec="mpich")["mpiexec"]
        self.expect(0, f"started by {expected} ", "-n", 1, self.mpich())

    def test_only_others(self):
        found = self.in_path("a", mpirun="openmpi 4", mpiexec="mpich")
        program = self.open_mpi(5)
        self.expect(127, f"{program} needs an mpirun of Open MPI 5, and none is found, only {found['mpirun']} (Open MPI 4), "
                    f"{found['mpiexec']} (MPICH or one made from it); put its directory first in PATH", "-n", 1, program)

    def test_none(self):
        program = self.mpich()
        self.expect(127, f"{program} needs an mpirun of MPICH or one made from it, and none is found; put", "-n", 1, program)

    def test_named_but_wrong(self):
        program = self.mpich()
        wrong = self.starter("a/mpirun", "openmpi 4.0")
        self.expect(2, f"{wrong} belongs to Open MPI 4, and {program} to MPICH or one made from it", "--mpiexec", wrong, "-n", 1, program)

    def test_named_and_silent(self):
        silent = self.starter("a/mpirun", "unknown")
        self.expect(0, f"started by {silent} ", "--mpiexec", silent, "-n", 1, self.mpich())

    def test_contradiction(self):
        self.expect(2, "--mpi is openmpi, and ", "--mpi", "openmpi", "-n", 1, self.mpich())

    def test_no_mpi_that_can_be_told(self):
        expected = self.in_path("a", mpirun="mpich")["mpirun"]
        program = self.program([], "int main(void) { return 0; }")
        self.expect(2, "say --mpi openmpi or --mpi mpich", "-n", 1, program)
        self.expect(0, f"started by {expected} ", "--mpi", "mpich", "-n", 1, program)

    def test_tcp_with_open_mpi_4(self):
        self.in_path("a", mpirun="openmpi 4")
        output = self.expect(0, "--mca osc sm,pt2pt", "--network", "tcp", "--path", "rma", "-n", 1, self.open_mpi(4))
        self.assertIn("LAPWING_PROGRESS=caller", output)
        self.assertNotIn("if_include", output)

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "no /dev/shm")
    def test_shared_memory_of_its_own(self):
        starter = self.starter("a/mpirun", "openmpi 4")
        starter.write_text(starter.read_text() + "ls -d $OMPI_MCA_btl_vader_backing_directory $OMPI_MCA_osc_sm_backing_directory\n")
        arguments = "--mpiexec", starter, "--mpi", "openmpi", "-n", 1, self.program([], "int main(void) { return 0; }")
        directories = [self.expect(0, "/dev/shm/lapwing-launch.", *arguments).splitlines()[-2:] for _ in range(2)]
        self.assertEqual([len(set(ours)) for ours in directories], [1, 1])
        self.assertNotEqual(*directories)
        for ours in directories:
            self.assertFalse(os.path.exists(ours[0]), "it is removed")

    # What the user has chosen stays.
    def test_shared_memory_of_the_user(self):
        starter = self.starter("a/mpirun", "openmpi 5")
        starter.write_text(starter.read_text() + "echo $OMPI_MCA_btl_sm_backing_directory\n")
        os.environ["OMPI_MCA_btl_sm_backing_directory"] = str(self.root)
        self.addCleanup(os.environ.pop, "OMPI_MCA_btl_sm_backing_directory")
        arguments = "--mpiexec", starter, "--mpi", "openmpi", "-n", 1, self.program([], "int main(void) { return 0; }")
        self.assertEqual(self.expect(0, "started by", *arguments).splitlines()[-1], str(self.root))

    # A component that does not exist ends MPI_Init.
    def test_tcp_with_open_mpi_5(self):
        for version in "openmpi 5", "prrte":
            starter = self.starter("a/mpirun", version)
            output = self.expect(0, "--mca btl_tcp_if_include lo", "--mpiexec", starter, "--mpi", "openmpi", "--network", "tcp",
                                 "--path", "rma", "-n", 1, self.program([], "int main(void) { return 0; }"))
            self.assertNotIn("osc", output)
            self.assertNotIn("LAPWING_PROGRESS", output)


if __name__ == "__main__":
    LAUNCH, COMPILER = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
