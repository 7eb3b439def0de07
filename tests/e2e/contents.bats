#!/usr/bin/env bats
# What is kept of contents at record time: checksums, and everything.

load common

record() {
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "$@"
    expect_status 0
}

replay() {
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
}

checks_find_the_first_difference() {
    launch "$1" 4 padding
    PADDING=a record --fill --check "$2" "${launch[@]}"
    PADDING=a CHANGED=1 replay
    expect_status 121
    expect_in "$stderr" "rank 0"
    expect_in "$stderr" "the message from rank 2 with tag 7, 64 bytes, has other contents"
    expect_in "$stderr" "MPI_Recv at padding.c:"
}

@test "Open MPI: a checksum tells which message differs first" {
    checks_find_the_first_difference openmpi crc32c
}

@test "MPICH: a checksum tells which message differs first" {
    checks_find_the_first_difference mpich xor
}

padding_is_told_and_filled() {
    launch "$1" 4 padding
    PADDING=a record --check crc32c "${launch[@]}"
    PADDING=b replay
    expect_status 121
    expect_in "$stderr" "never written"
    expect_in "$stderr" "--fill"
    rm -rf trace
    PADDING=a record --fill --check crc32c "${launch[@]}"
    for _ in 1 2 3; do
        PADDING=b replay
        expect_status 0
        expect_in "$stderr" "no difference"
    done
    run_apart "$REFRAIN" info trace
    expect_in "$output" "checksums crc32c, fresh memory filled"
}

@test "Open MPI: memory that was never written is told, and can be filled" {
    padding_is_told_and_filled openmpi
}

@test "MPICH: memory that was never written is told, and can be filled" {
    padding_is_told_and_filled mpich
}

@test "checksums are compared while ranks are extracted" {
    launch mpich 4 padding
    PADDING=a record --fill --check crc32c "${launch[@]}"
    PADDING=a CHANGED=1 run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace
    expect_status 121
    [ ! -e trace/rank-0.contents ]
    PADDING=a run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace
    expect_status 0
    run_apart timeout -k 5 60 "$REFRAIN" replay --rank 0 trace
    expect_status 0
}

# What a freed receive gets is seen by nobody but a rank that is extracted.
freed_receives_are_not_checked() {
    launch "$1" 4 request_free
    record --check crc32c "${launch[@]}"
    result=$(grep '^rank' <<< "$output" | sort) # libraries grumble about receives left over
    replay
    expect_status 0
    [ "$(grep '^rank' <<< "$output" | sort)" = "$result" ]
    run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace
    expect_status 0
    run_apart timeout -k 5 60 "$REFRAIN" replay --rank 0 trace
    expect_status 0
    [ "$output" = "$(grep '^rank 0: ' <<< "$result")" ]
}

@test "Open MPI: checksums and freed receives" { freed_receives_are_not_checked openmpi; }
@test "MPICH: checksums and freed receives" { freed_receives_are_not_checked mpich; }

# Addresses in contents are told, once per rank, and nothing else is taken for one.
addresses_are_told() {
    local what
    for what in function static heap; do
        rm -rf trace
        launch "$1" 3 addresses $what
        record "${launch[@]}"
        run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0,1 trace
        expect_status 0
        [[ $stderr =~ "rank 0: what MPI_Recv brought from rank "[12]" with tag 5 holds an address: 0x"[0-9a-f]+" at byte 8, in " ]]
        [ "$(grep -c 'holds an address' <<< "$stderr")" = 1 ]
    done
    rm -rf trace
    launch "$1" 3 addresses
    record "${launch[@]}"
    run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace
    expect_status 0
    [[ $stderr != *address* ]]
}

@test "Open MPI: addresses in contents are told" { addresses_are_told openmpi; }
@test "MPICH: addresses in contents are told" { addresses_are_told mpich; }

@test "an unknown checksum is refused" {
    run_apart "$REFRAIN" record --check md5 true
    expect_status 120
    expect_in "$stderr" "--check md5: unknown checksum"
    [ ! -e refrain.data ]
}

# A rank that ends badly does so alone, with no run in between.
data_of_a_bad_end() {
    launch "$1" 4 crash "$2" 10
    rm -rf trace
    run_apart timeout -k 5 60 "$REFRAIN" record -q -s data -o trace "${launch[@]}"
    [ "$status" -ne 0 ]
    result=$(grep '^rank 1: ' <<< "$output")
    run_apart timeout -k 5 60 "$REFRAIN" replay --rank 1 trace
    expect_status "$3"
    expect_in "$stderr" "replayed: trace: rank 1 alone"
    [ "$(grep '^rank 1: ' <<< "$output")" = "$result" ]
}

@test "Open MPI: contents kept at record time, up to a bad end" {
    data_of_a_bad_end openmpi segfault 139
    data_of_a_bad_end openmpi abort 134
    data_of_a_bad_end openmpi exit 3
    data_of_a_bad_end openmpi mpi_abort 7
    run_apart "$REFRAIN" info trace
    expect_in "$output" "scheme     data"
}

@test "MPICH: contents kept at record time, up to a bad end" {
    data_of_a_bad_end mpich segfault 139
    data_of_a_bad_end mpich assert 134
    data_of_a_bad_end mpich exit 3
    data_of_a_bad_end mpich mpi_abort 7
}

@test "a damaged checksum file is told" {
    launch mpich 4 padding
    record --check crc32c "${launch[@]}"
    printf 'x' | dd of=trace/rank-0.checks bs=1 seek=3 conv=notrunc status=none
    replay
    expect_status 122
    [ -z "$output" ] # nothing has run
    expect_in "$stderr" "rank-0.checks"
    run_apart "$REFRAIN" check trace
    expect_status 122
    expect_in "$output" "rank 0: damaged: "
    expect_in "$output" "rank-0.checks"
    expect_in "$output" "rank 1: whole"
    rm trace/rank-0.checks
    replay
    expect_status 122
    expect_in "$stderr" "rank-0.checks: cannot open it"
}

@test "check reads what was kept of a rank" {
    launch mpich 3 recv_wildcard
    record -s data "${launch[@]}"
    run_apart "$REFRAIN" check trace
    expect_status 0
    printf 'x' | dd of=trace/rank-0.contents bs=1 seek=40 conv=notrunc status=none
    rm trace/rank-1.contents
    printf '{' > trace/rank-2.start
    run_apart "$REFRAIN" check trace
    expect_status 122
    for file in rank-0.contents rank-1.contents rank-2.start; do
        expect_in "$output" "$file"
    done
    [ "$(grep -c 'damaged: .*; all of its [0-9]* events are usable$' <<< "$output")" -eq 3 ]
    # The events are enough for the whole job.
    replay
    expect_status 0
}

@test "MCAPI: contents that are damaged are told before anything runs" {
    run_apart "$REFRAIN" record -q -s data -o trace "$PROGRAMS/mcapi/recv"
    expect_status 0
    run_apart "$REFRAIN" check trace
    expect_status 0
    file=$(find trace -name 'rank-*.contents' -size +0 | sort | head -n 1)
    printf 'x' | dd of="$file" bs=1 seek=40 conv=notrunc status=none
    run_apart "$REFRAIN" replay trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "$file"
    run_apart "$REFRAIN" check trace
    expect_status 122
    expect_in "$output" "$file"
}

# mpi4py asks for MPI_THREAD_MULTIPLE. Everything at once: contents, checksums, values.
@test "Open MPI: contents and checksums of a Python program" {
    launch=(mpirun.openmpi -n 3 /usr/bin/python3 "$PROGRAMS/openmpi/python_wildcard.py")
    record -s data --check crc32c "${launch[@]}"
    recorded=$(grep '^rank' <<< "$output" | sort)
    [ -z "$stderr" ]
    replay
    expect_status 0
    [ "$(grep '^rank' <<< "$output" | sort)" = "$recorded" ]
    for rank in 0 2; do
        run_apart timeout -k 5 60 "$REFRAIN" replay --rank $rank trace
        expect_status 0
        [ "$output" = "$(grep "^rank $rank: " <<< "$recorded")" ]
        expect_in "$stderr" "rank $rank alone"
        expect_in "$stderr" "no difference"
    done
}

# What the interpreter does at its start depends on what its standard streams are: pipes, as in a job.
@test "Open MPI: a Python program with values, extracted" {
    launch=(mpirun.openmpi -n 3 /usr/bin/python3 "$PROGRAMS/openmpi/python_wildcard.py")
    record --values all "${launch[@]}"
    recorded=$(grep '^rank' <<< "$output" | sort)
    run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0,1 trace
    expect_status 0
    for rank in 0 1; do
        said=$(timeout -k 5 60 "$REFRAIN" replay -q --rank $rank trace < /dev/null 2>&1 | cat)
        [ "$said" = "$(grep "^rank $rank: " <<< "$recorded")" ]
    done
    said=$(timeout -k 5 60 "$REFRAIN" debug --rank 0 --event 20 --batch refrain-where trace < /dev/null 2>&1 | cat)
    expect_in "$said" "rank 0: 21 of"
}

# Four threads of each rank call MPI; each has its own checksums.
checks_of_threads() {
    launch "$1" 3 thr_both
    record --check crc32c "${launch[@]}"
    recorded=$(sort <<< "$output")
    for _ in 1 2; do
        replay
        expect_status 0
        [ "$(sort <<< "$output")" = "$recorded" ]
    done
    CHANGED=1 replay
    expect_status 121
    expect_in "$stderr" "the message from rank 2 with tag 1, 12 bytes, has other contents"
}

@test "Open MPI: checksums of threads that call MPI" { checks_of_threads openmpi; }
@test "MPICH: checksums of threads that call MPI" { checks_of_threads mpich; }
