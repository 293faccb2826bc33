#!/usr/bin/env python3
"""What scripts/install-deps does on systems that are not this one: os-release and the package managers are made up here, and
the commands that it runs are compared with what that system needs.

  install_deps_test.py SCRIPT

Exit code 1 and the differences when something is not as expected.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Each writes down how it was called. Queries answer by the list of what is installed.
RECORDED = ["apt-get", "dnf", "zypper", "pacman", "crb"]
COMMANDS = {
    "sudo": 'exec "$@"',
    "rpm": 'grep -qxF -- "${!#}" "$FAKE/installed"',
    "apt-cache": 'cat "$FAKE/offered"',
    "dpkg-query": 'grep -qxF -- "${!#}" "$FAKE/installed" && echo -n installed',
}
DEPTEST = 'if [[ $1 == --deptest ]]; then grep -qxF -- "$2" "$FAKE/installed"; exit; fi\n'

SYSTEMS = {
    "debian": "ID=debian\nVERSION_ID=\"13\"\n",
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n",
    "jammy": "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n",
    "fedora": "ID=fedora\nVERSION_ID=42\n",
    "rocky8": "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"8.10\"\n",
    "rocky9": "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\n",
    "rhel10": "ID=\"rhel\"\nID_LIKE=\"centos fedora\"\nVERSION_ID=\"10.0\"\n",
    "leap": "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\n",
    "tumbleweed": "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\nVERSION_ID=\"20250601\"\n",
    "arch": "ID=arch\n",
    "unknown": "ID=haiku\nPRETTY_NAME=\"Another system\"\n",
}

DEBIAN = """g++ clang cmake ninja-build pkg-config make git openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran libboost-dev libhwy-dev
    libfmt-dev libxxhash-dev libcli11-dev nlohmann-json3-dev catch2 libblas-dev libfftw3-dev iproute2 util-linux mount mmdebstrap python3-dev
    python3-venv python3-setuptools python3-numpy python3-cffi python3-pytest python3-mpi4py python3 gnuplot-nox graphviz doxygen""".split()
FEDORA = """gcc-c++ clang cmake ninja-build pkgconf-pkg-config make git openmpi-devel mpich-devel gcc-gfortran environment-modules boost-devel
    highway-devel fmt-devel xxhash-devel cli11-devel json-devel catch-devel blas-devel fftw-devel iproute util-linux python3-devel
    python3-setuptools python3-numpy python3-cffi python3-pytest python3-mpi4py-openmpi python3-mpi4py-mpich python3 gnuplot graphviz doxygen""".split()
OPENSUSE = """gcc-c++ clang cmake ninja pkg-config make git openmpi4-devel mpich-devel gcc-fortran libboost_headers-devel highway-devel fmt-devel
    xxhash-devel cli11-devel nlohmann_json-devel Catch2-devel blas-devel fftw3-devel iproute2 util-linux python3-devel python3-setuptools python3-numpy python3-cffi
    python3-pytest python3 gnuplot graphviz doxygen""".split()
ARCH = """gcc clang cmake ninja pkgconf make git openmpi gcc-fortran boost highway fmt xxhash cli11 nlohmann-json catch2 blas fftw iproute2 util-linux
    python-setuptools python-numpy python-cffi python-pytest python-mpi4py python gnuplot graphviz doxygen""".split()

DNF = "dnf install --assumeyes --setopt=install_weak_deps=False "
ZYPPER = "zypper --non-interactive install --no-recommends "
APT = ["apt-get update --quiet", "apt-get install --yes --quiet --no-install-recommends "]

failures = 0


def run(script, system, options, installed, offered=()):
    """Exit code, output, and the commands that were run."""
    with tempfile.TemporaryDirectory() as directory:
        fake = Path(directory)
        (fake / "os-release").write_text(SYSTEMS[system])
        (fake / "installed").write_text("".join(f"{package}\n" for package in installed))
        (fake / "offered").write_text("".join(f"{package}\n" for package in offered))
        (fake / "log").touch()
        programs = fake / "bin"
        programs.mkdir()
        for name in RECORDED:
            body = (DEPTEST if name == "pacman" else "") + f'echo "{name} $*" >> "$FAKE/log"'
            (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        for name, body in COMMANDS.items():
            (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        for program in programs.iterdir():
            program.chmod(0o755)
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", FAKE=directory,
                           LAPWING_OS_RELEASE=str(fake / "os-release"))
        result = subprocess.run([script, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return result.returncode, result.stdout, (fake / "log").read_text().splitlines()


def expect(what, found, wanted):
    global failures
    if found != wanted:
        failures += 1
        print(f"{what}:\n  expected {wanted}\n  found    {found}")


def expect_text(what, output, *texts):
    global failures
    for text in texts:
        if text not in output:
            failures += 1
            print(f"{what}: '{text}' is not in the output:\n{output}")


def main():
    script = sys.argv[1]

    lists = {"debian": DEBIAN, "ubuntu": DEBIAN, "jammy": DEBIAN, "fedora": FEDORA,
             "rocky8": [*FEDORA, "gcc-toolset-13-gcc-c++", "python39"], "rocky9": [*FEDORA, "gcc-toolset-13-gcc-c++"], "rhel10": FEDORA,
             "leap": [*OPENSUSE, "gcc13-c++", "python311"], "tumbleweed": OPENSUSE, "arch": ARCH}
    for system, packages in lists.items():
        code, output, commands = run(script, system, ["--list"], [])
        expect(f"{system} --list", (code, output.split(), commands), (0, packages, []))
        # All is there, and a check of all but the last.
        code, output, commands = run(script, system, [], packages)
        expect(f"{system}, all installed", (code, commands), (0, []))
        code, output, commands = run(script, system, ["--check"], packages[:-1])
        expect(f"{system} --check", (code, output, commands),
               (1, f"scripts/install-deps: missing: {packages[-1]}\n", []))

    def installs(system, installed, commands, *texts):
        code, output, found = run(script, system, [], installed)
        expect(f"{system}: commands", (code, found), (0, commands))
        expect_text(system, output, *texts)

    installs("debian", DEBIAN[2:], [APT[0], APT[1] + "g++ clang"])
    installs("ubuntu", [], [APT[0], APT[1] + " ".join(DEBIAN)])
    installs("jammy", DEBIAN[1:], [APT[0], APT[1] + "g++"], "CMake here is older than 3.25", "LAPWING_DEPENDENCIES=fetch")
    installs("fedora", FEDORA[1:], [DNF + "gcc-c++"], "module load mpi/openmpi-", "/openmpi/bin", "-DMPI_CXX_COMPILER=mpicxx")
    installs("rocky9", FEDORA,
             ["dnf install --assumeyes epel-release", "crb enable", DNF + "gcc-toolset-13-gcc-c++"], "scl enable gcc-toolset-13")
    installs("rhel10", [*FEDORA[2:], "epel-release"], ["crb enable", DNF + "gcc-c++ clang"])
    installs("leap", OPENSUSE[1:], [ZYPPER + "gcc-c++ gcc13-c++ python311"], "/mpi/gcc/openmpi4/bin", "g++-13")
    installs("tumbleweed", OPENSUSE[:-1], [ZYPPER + "doxygen"], "/mpi/gcc/mpich/bin")
    installs("arch", ARCH[:-2], ["pacman -Syu --needed --noconfirm graphviz doxygen"])

    code, output, commands = run(script, "rhel10", [], [])
    expect("rhel10 without EPEL", (code, commands), (1, []))
    expect_text("rhel10 without EPEL", output, "install epel-release")

    for options in ([], ["--check"], ["--list"]):
        code, output, commands = run(script, "unknown", options, [])
        expect("unknown system", (code, commands), (1, []))
        expect_text("unknown system", output, "Another system", "CMake 3.25", "MPI 3.1", "Boost 1.74", "fmt 9", "Highway 1.0",
                    "xxHash 0.8", "CLI11 2.1", "Catch2 2.13", "Python 3.9", "LAPWING_DEPENDENCIES=fetch")

    code, output, commands = run(script, "debian", ["--compare", "--list"], [])
    expect_text("debian --compare", output, "libfftw3-mpi-dev", "libscalapack-mpich-dev", "g++")
    for system, clang in {"debian": 19, "ubuntu": 16, "jammy": 15}.items():
        code, output, commands = run(script, system, ["--upc", "--list"], [])
        expect_text(f"{system} --upc", output, f"clang-{clang}\nlibclang-{clang}-dev\nllvm-{clang}-dev\n")
    for offered, clang in ({"clang-19", "clang-21", "clang-22"}, 21), ({"clang-14", "clang-19"}, 19):
        code, output, commands = run(script, "debian", ["--upc", "--list"], [], offered)
        expect_text(f"debian with {offered}", output, f"clang-{clang}\nlibclang-{clang}-dev\nllvm-{clang}-dev\n")
    # An option's package that the distribution has no more.
    code, output, commands = run(script, "debian", ["--style"], DEBIAN[1:], ["clang-format-21"])
    expect("no clang-format-19", (code, commands), (0, [APT[0], APT[1] + "g++"]))
    expect_text("no clang-format-19", output, "left out", "clang-format-19")
    # One that it has, before more names than a pipe holds.
    offered = ["clang-format-19", *(f"clang-format-19-{count}" for count in range(20000))]
    code, output, commands = run(script, "debian", ["--style"], DEBIAN, offered)
    expect("clang-format-19 among many", (code, commands), (0, [APT[0], APT[1] + "clang-format-19"]))
    code, output, commands = run(script, "fedora", ["--compare"], [])
    expect("fedora --compare", (code, commands), (2, []))

    print(f"{failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
