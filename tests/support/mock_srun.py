#!/usr/bin/env python3
"""Starts a program as srun of Slurm does: with its variables, as far as they are of use to a program that looks for its launcher.

  mock_srun.py [--mpi none|pmi2|pmix] -n N COMMAND…    N processes that find no server of that PMI. An MPI that does not
                                                       speak it, or is told of none, does not look for one
  mpirun -n N mock_srun.py --mpi pmi2|pmix COMMAND…    one process of N, with mpirun's server in the place of srun's

Ends with the first exit code that is not 0.
"""

import argparse
import os
import sys

# By which a launcher that is not srun says that it has started this process.
OF_MPIRUN = ("OMPI_COMM_WORLD_", "MPI_LOCALNRANKS", "MPI_LOCALRANKID")


def variables(rank, ranks):
    # Not SLURM_NODELIST: Open MPI 4 that sees it and no PMI ends in MPI_Init, with a word of its own.
    slurm = {"SLURM_JOB_ID": 7, "SLURM_NTASKS": ranks, "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": ranks, "SLURM_STEP_NUM_NODES": 1,
             "SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_NODEID": 0}
    return {name: str(value) for name, value in slurm.items()}


def pmi(mpi, rank, ranks):
    """Without what says where the server is."""
    of_kind = {"none": {}, "pmi2": {"PMI_JOBID": "7.0", "PMI_RANK": rank, "PMI_SIZE": ranks},
               "pmix": {"PMIX_NAMESPACE": "slurm.pmix.7.0", "PMIX_RANK": rank}}
    return {name: str(value) for name, value in of_kind[mpi].items()}


def start(command, environment):
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"mock_srun: {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("none", "pmi2", "pmix"), default="none")
    parser.add_argument("-n", type=int, metavar="N")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    if arguments.n is None:
        rank, ranks = (os.environ.get(f"OMPI_COMM_WORLD_{what}", os.environ.get(f"PMI_{what}")) for what in ("RANK", "SIZE"))
        if rank is None:
            parser.error("without -n it must be started by mpirun")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_MPIRUN)}
        start(arguments.command, {**environment, **variables(rank, ranks)})
    processes = []
    for rank in range(arguments.n):
        process = os.fork()
        if process == 0:
            start(arguments.command, {**os.environ, **variables(rank, arguments.n), **pmi(arguments.mpi, rank, arguments.n)})
        processes.append(process)
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    return next((code if code > 0 else 128 - code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
