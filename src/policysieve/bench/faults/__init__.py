"""What goes wrong outside: killed writers, full disks, interrupts, threads, clocks, bad input."""
