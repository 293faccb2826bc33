"""usage: exit_status.py COMMAND…   starts a job whose first rank alone makes a collective call: each time it must end with a status of failure"""

import subprocess
import sys

PROGRAM = """import lapwing
a = lapwing.zeros((10, 6))
if lapwing.rank() == 0:
    a.sum()
"""

for _ in range(3):
    done = subprocess.run([*sys.argv[1:], "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    if done.returncode == 0 or "MismatchError" not in done.stdout:
        sys.exit(f"the job ended with status {done.returncode}, of ranks in different collective calls")
