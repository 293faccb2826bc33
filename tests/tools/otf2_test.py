#!/usr/bin/env python3
"""An archive of OTF2 (LAPWING_TOOLS=otf2:DIRECTORY): what otf2-print finds in it.

  otf2_test.py OTF2_PRINT COMMAND…   COMMAND starts examples/traced.cpp on 2 ranks
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    otf2_print, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory, "archive")
        environment = {**os.environ, "LAPWING_TOOLS": f"otf2:{archive}", "LAPWING_CACHE": "epoch"}
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert run.returncode == 0, run.stdout
        text = subprocess.run([otf2_print, archive / "traces.otf2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        # 120 rows of 120 elements, of two arrays, on both ranks together; each is a region with one operation.
        gets = len(re.findall(r"^RMA_GET ", text, re.MULTILINE))
        assert gets == 2 * 120 * 120, (gets, text[:3000])
        for event in ["ENTER ", "LEAVE ", "RMA_OP_COMPLETE_BLOCKING "]:
            assert len(re.findall(rf"^{event}", text, re.MULTILINE)) == gets, event
        assert 'lapwing element read' in text, text[:3000]
        # Once more into the same directory: refused, with the remedy.
        again = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert again.returncode != 0 and "does not exist yet" in again.stdout, again.stdout


if __name__ == "__main__":
    main()
