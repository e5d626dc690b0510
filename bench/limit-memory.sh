#!/bin/sh
# limit-memory.sh MIB COMMAND ARGUMENTS: runs a command with so much memory, the files that it reads and writes included. It needs the rights
# to make a control group.
mib=$1
shift
name=ambo-bench-$$
if [ -d /sys/fs/cgroup/memory ]; then
    own=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    mkdir "$own/$name" || exit 1
    echo $((mib << 20)) >"$own/$name/memory.limit_in_bytes" || exit 1
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$own/$name" "$@"
    status=$?
    rmdir "$own/$name"
    exit $status
fi
exec systemd-run --quiet --scope -p MemoryMax="${mib}M" -p MemorySwapMax=0 "$@"
