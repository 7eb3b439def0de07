#!/usr/bin/env bats
# Recordings that cannot be kept: the program goes on unharmed, and the trace says what it lacks.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir disk
}

teardown() {
    ! mountpoint -q disk || umount disk
}

# A disk of so many KiB.
small_disk() {
    [ "$(id -u)" -eq 0 ] || skip "only root can mount a small disk"
    mount -t tmpfs -o size="$1"k tmpfs disk 2> mount.text || skip "no small disk: $(cat mount.text)"
}

# What a rank sets aside for its log, in KiB; measured, since it is not this test's business.
log_size() {
    launch "$1" 2 branch endless
    "$REFRAIN" record -q -o measured "${launch[@]}" > measured.text 2>&1 &
    local recorder=$!
    until [ -e measured/rank-0.tail ] && [ -e measured/rank-1.tail ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || true
    log_size=$(du -k measured/rank-0.tail | cut -f1)
}

# The log fits, the trace does not.
check_full() {
    log_size "$1"
    launch "$1" 1 longrun 2000000
    "${launch[@]}" > plain.text 2> /dev/null
    small_disk $((log_size + 48))
    run_apart timeout 120 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [ "$output" = "$(cat plain.text)" ]
    expect_in "$stderr" "rank 0 is recorded only up to event "
    expect_in "$stderr" "No space left on device"
    for verb in info check; do
        run_apart "$REFRAIN" $verb disk/trace
        expect_status 0
        expect_in "$output" "is recorded only up to event "
        expect_in "$output" "No space left on device"
    done
    # The replay follows the trace to its end and runs free from there.
    run_apart timeout 120 "$REFRAIN" replay -q disk/trace
    expect_status 0
    [ "$output" = "$(cat plain.text)" ]
}

@test "Open MPI: the disk is full in the middle: the program goes on, the trace ends there" { check_full openmpi; }
@test "MPICH: the disk is full in the middle: the program goes on, the trace ends there" { check_full mpich; }

# Not even the logs of all ranks fit.
check_no_room() {
    log_size "$1"
    launch "$1" 4 recv_wildcard
    small_disk $((2 * log_size + log_size / 2))
    run_apart timeout 120 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [ "$(grep -c '^rank ' <<< "$output")" -eq 4 ]
    expect_in "$stderr" "this rank is not recorded: "
    expect_in "$stderr" "No space left on device"
    for verb in info check; do
        run_apart "$REFRAIN" $verb disk/trace
        expect_status 122
        expect_in "$output$stderr" "missing"
    done
    run_apart "$REFRAIN" replay disk/trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "is missing: the program had 4 ranks"
}

@test "Open MPI: no room for some ranks: they are named, a replay is refused" { check_no_room openmpi; }
@test "MPICH: no room for some ranks: they are named, a replay is refused" { check_no_room mpich; }

# The ranks may not write where the trace is; the program does not care.
check_forbidden() {
    launch "$1" 3 recv_wildcard
    cat > start << 'END'
#!/bin/sh
rm -rf trace && echo "not a directory" > trace
exec "$@"
END
    chmod +x start
    run_apart timeout 120 "$REFRAIN" record -m "$1" -o trace ./start "${launch[@]}"
    [ "$(grep -c '^rank ' <<< "$output")" -eq 3 ]
    expect_in "$stderr" "this rank is not recorded: "
    expect_in "$stderr" "rank-2."
}

@test "Open MPI: ranks that cannot write are named, the program goes on" { check_forbidden openmpi; }
@test "MPICH: ranks that cannot write are named, the program goes on" { check_forbidden mpich; }

@test "no permission for the trace: 123, nothing run" {
    launch mpich 2 recv_wildcard
    if [ "$(id -u)" -eq 0 ]; then
        small_disk 64
        mount -o remount,ro disk
    else
        chmod a-w disk
    fi
    run_apart "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "disk/trace"
}
