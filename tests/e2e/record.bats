#!/usr/bin/env bats
# Recording: where the trace goes, what the exit status is, what is said.

load common

check_recording() {
    launch "$1" 3 recv_wildcard
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    [[ $(echo "$stderr" | tail -n 2) =~ ^refrain:\ recorded:\ refrain.data/recv_wildcard-1:\ [0-9.]+\ [a-zA-Z]+,\ [0-9]+\ events,\ 3\ ranks$'\n'hint:\ refrain\ replay$ ]]
    [ "$(readlink refrain.data/latest)" = recv_wildcard-1 ]
    python3 - << 'END'
import json
manifest = json.load(open("refrain.data/latest/manifest.json"))
assert manifest["state"] == "complete" and manifest["status"] == 0 and manifest["ranks"] == 3
assert manifest["command"][1:3] == ["-n", "3"]
END
    run_apart "$REFRAIN" record -q "${launch[@]}"
    expect_status 0
    [ -z "$(echo "$stderr" | grep -e recorded -e hint)" ]
    [ "$(readlink refrain.data/latest)" = recv_wildcard-2 ]
    [ -e refrain.data/recv_wildcard-1/manifest.json ]
    run_apart "$REFRAIN" check
    expect_status 0
    expect_in "$output" "rank 2: whole"
}

@test "Open MPI: a numbered trace, latest, two lines; never overwritten" { check_recording openmpi; }
@test "MPICH: a numbered trace, latest, two lines; never overwritten" { check_recording mpich; }

check_output_option() {
    launch "$1" 2 recv_wildcard
    run_apart "$REFRAIN" record -o some/where "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "hint: refrain replay some/where"
    [ -e some/where/manifest.json ]
    [ ! -e refrain.data ]
    cp -r some/where before
    run_apart "$REFRAIN" record -o some/where "${launch[@]}"
    expect_status 123
    expect_in "$stderr" "never overwritten"
    diff -r before some/where
    run_apart "$REFRAIN" replay -q some/where
    expect_status 0
    REFRAIN_DIR=folder run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    [ "$(readlink folder/latest)" = recv_wildcard-1 ]
}

@test "Open MPI: -o and REFRAIN_DIR choose another place" { check_output_option openmpi; }
@test "MPICH: -o and REFRAIN_DIR choose another place" { check_output_option mpich; }

# How rank 1 ends, and the status that a shell would show.
check_status() {
    launch "$1" 3 crash "$2"
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status "$3"
    run_apart "$REFRAIN" info
    expect_status 0
    expect_in "$output" "status $3"
    expect_in "$output" "$4"
    run_apart "$REFRAIN" replay
    expect_status "$3"
}

@test "Open MPI: a segmentation fault is 139" { check_status openmpi segfault 139 "ended by SIGSEGV"; }
@test "MPICH: a segmentation fault is 139" { check_status mpich segfault 139 "ended by SIGSEGV"; }
@test "Open MPI: abort() is 134" { check_status openmpi abort 134 "ended by SIGABRT"; }
@test "MPICH: abort() is 134" { check_status mpich abort 134 "ended by SIGABRT"; }
@test "Open MPI: MPI_Abort gives its code" { check_status openmpi mpi_abort 7 "rank 1 aborted with code 7"; }
@test "MPICH: MPI_Abort gives its code" { check_status mpich mpi_abort 7 "rank 1 aborted with code 7"; }
@test "Open MPI: exit() gives its code" { check_status openmpi exit 3 "rank 1 exited with status 3"; }
@test "MPICH: exit() gives its code" { check_status mpich exit 3 "rank 1 exited with status 3"; }

check_interrupt() {
    record_endless "$1"
    kill -INT -- -$recorder
    status=0
    wait $recorder || status=$?
    expect_status 130
    expect_in "$(cat refrain.data/latest/manifest.json)" '"state": "complete"'
    run_apart "$REFRAIN" check
    expect_status 0
}

@test "Open MPI: an interrupt reaches the program, the trace is finished" { check_interrupt openmpi; }
@test "MPICH: an interrupt reaches the program, the trace is finished" { check_interrupt mpich; }

@test "the launcher of one MPI with a program of the other: 123, nothing run" {
    launch openmpi 2 recv_wildcard
    launch mpich 2 recv_wildcard
    run_apart "$REFRAIN" record mpirun.openmpi -n 2 "$PROGRAMS/mpich/recv_wildcard"
    expect_status 123
    expect_in "$stderr" "is linked with MPICH (libmpich.so.12), but mpirun.openmpi belongs to Open MPI"
    [ ! -e refrain.data ]
}

@test "a static program: 123, nothing run" {
    command -v gcc > /dev/null || skip "no compiler"
    echo '#include <stdio.h>
int main(void) { return fclose(fopen("ran", "w")); }' > static.c
    gcc -static -o static static.c 2> /dev/null || skip "no static C library"
    run_apart "$REFRAIN" record ./static
    expect_status 123
    expect_in "$stderr" "refrain: ./static is statically linked"
    [ ! -e ran ]
    [ ! -e refrain.data ]
}

@test "a command that does not exist: 123, no trace" {
    run_apart "$REFRAIN" record ./nothing
    expect_status 123
    expect_in "$stderr" "refrain: cannot run ./nothing: No such file or directory"
    mkdir folder
    run_apart "$REFRAIN" record ./folder
    expect_status 123
    expect_in "$stderr" "refrain: cannot run ./folder: not a file"
    run_apart "$REFRAIN" record no-such-command-anywhere
    expect_status 123
    expect_in "$stderr" "not found in PATH"
    run_apart "$REFRAIN" record .
    expect_status 123
    [ "$stderr" = "refrain: cannot run .: it is a directory" ]
    run_apart "$REFRAIN" record folder
    expect_status 123
    expect_in "$stderr" "cannot run folder: not found in PATH, and here it is a directory"
    [ ! -e refrain.data ]
}

@test "no MPI program: 123, no trace is left, latest stays" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}"
    run_apart "$REFRAIN" record -m openmpi true
    expect_status 123
    expect_in "$stderr" "nothing recorded"
    expect_in "$stderr" "hint: refrain doctor -- true"
    [ "$(readlink refrain.data/latest)" = recv_wildcard-1 ]
    [ "$(ls refrain.data)" = "latest
recv_wildcard-1" ]
    run_apart "$REFRAIN" record -m openmpi false
    expect_status 1
}

@test "a place that cannot be written: 123, nothing run" {
    launch openmpi 2 recv_wildcard
    touch file
    run_apart "$REFRAIN" record -o file/trace "${launch[@]}"
    expect_status 123
    [ -z "$output" ]
    REFRAIN_DIR=/proc/nowhere run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "refrain: cannot create /proc/nowhere"
}

check_streams() {
    [ "$1" = mpich ] || ! mpirun.openmpi --version | grep -q ' 5\.' ||
        skip "Open MPI 5 itself loses output once its input has ended"
    launch "$1" 1 recv_wildcard
    # The program is a shell with a rank in it: words reach it as they are, and so does input.
    run_apart "$REFRAIN" record "mpirun.$1" -n 1 sh -c 'cat; printf "%s|" "$@"; echo error >&2; exec "$0" > /dev/null' \
        "$PROGRAMS/$1/recv_wildcard" 'two words' '$HOME' '*' $'not UTF-8: \xe9' <<< "input"
    expect_status 0
    [ "$output" = "input
two words|\$HOME|*|not UTF-8: "$'\xe9|' ]
    expect_in "$stderr" "error"
    local recorded=$output
    run_apart "$REFRAIN" replay <<< "input"
    expect_status 0
    [ "$output" = "$recorded" ]
    "$REFRAIN" ls --json | python3 -m json.tool > /dev/null
    "$REFRAIN" info --json | python3 -m json.tool > /dev/null
}

@test "Open MPI: words, input and output pass unchanged" { check_streams openmpi; }
@test "MPICH: words, input and output pass unchanged" { check_streams mpich; }

# The loader would take such a path for two.
check_spaces() {
    launch "$1" 2 recv_wildcard
    mkdir -p "a place: here/lib"
    cp "$REFRAIN" "a place: here/refrain"
    cp "$(dirname "$REFRAIN")/lib/librefrain-$1.so" "a place: here/lib"
    cd "a place: here"
    run_apart ./refrain record "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "2 ranks"
    run_apart ./refrain replay
    expect_status 0
    expect_in "$stderr" "2 ranks, no difference"
}

@test "Open MPI: spaces and colons in the path of Refrain" { check_spaces openmpi; }
@test "MPICH: spaces and colons in the path of Refrain" { check_spaces mpich; }

check_colon() {
    skip_unless_several_programs "$1"
    launch "$1" 1 recv_wildcard
    run_apart "$REFRAIN" record "${launch[@]}" : -n 2 "${launch[3]}"
    expect_status 0
    expect_in "$stderr" "3 ranks"
}

@test "Open MPI: several programs in one job are all recorded" { check_colon openmpi; }
@test "MPICH: several programs in one job are all recorded" { check_colon mpich; }

@test "Open MPI: programs listed in a file, and variables listed in one, are recorded" {
    skip_unless_several_programs openmpi
    launch openmpi 1 recv_wildcard
    printf -- '-n %s %s\n' 1 "${launch[3]}" 2 "${launch[3]}" > list
    run_apart "$REFRAIN" record mpirun.openmpi --app list
    expect_status 0
    expect_in "$stderr" "3 ranks"
    launch openmpi 3 recv_wildcard
    OMPI_MCA_mca_base_env_list=SOMETHING=1 run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "3 ranks"
    run_apart "$REFRAIN" replay
    expect_status 0
}

check_preload() {
    launch "$1" 2 recv_wildcard
    mkdir library
    echo 'int refrain_test_symbol;' > library/other.c
    gcc -shared -fPIC -o library/other.so library/other.c || skip "no compiler"
    LD_PRELOAD=$PWD/library/other.so run_apart "$REFRAIN" record -v "${launch[@]}"
    expect_status 0
    expect_in "$stderr" ":$PWD/library/other.so"
    expect_in "$stderr" "2 ranks"
}

@test "Open MPI: the user's own preloading stays" { check_preload openmpi; }
@test "MPICH: the user's own preloading stays" { check_preload mpich; }

@test "doctor: finds the MPIs and reaches their ranks" {
    launch openmpi 2 recv_wildcard
    run_apart "$REFRAIN" doctor
    expect_status 0
    expect_in "$output" "reaches the ranks (2 of 2)"
    run_apart "$REFRAIN" doctor --json -- "${launch[@]}"
    expect_status 0
    echo "$output" | python3 -c 'import json,sys; assert json.load(sys.stdin)["works"]'
    expect_in "$output" "is linked with libmpi.so.40"
}

@test "doctor: a command that cannot work: 123" {
    run_apart "$REFRAIN" doctor -- ./nothing
    expect_status 123
    expect_in "$output" "FAIL  command"
}

@test "doctor: without MPI threads can be recorded, and what is missing is named" {
    mkdir empty
    cp "$(type -P true)" program
    run_apart env PATH="$PWD/empty" "$REFRAIN" doctor -- ./program
    expect_status 0
    [[ $output =~ "ok    command   the command names no MPI" ]]
    [[ $output =~ "ok    threads   the preload reaches programs" ]]
    [[ $output != *"MPICH"* ]]
    run_apart env PATH="$PWD/empty" "$REFRAIN" doctor
    expect_status 123
    expect_in "$output" "ok    threads "
    [ "$stderr" = "refrain: no program that uses MPI can be recorded here: its launcher is not found in PATH
hint: apt install openmpi-bin" ]
    run_apart env PATH="$PWD/empty" "$REFRAIN" doctor --mpi mpich
    expect_status 123
    expect_in "$stderr" "hint: apt install mpich"
    run_apart env PATH="$PWD/empty" "$REFRAIN" record ./program 'two words'
    expect_status 123
    [ "${stderr##*$'\n'}" = "hint: refrain record --threads -- ./program 'two words'" ]
}

@test "a command that cannot be run: a hint where one helps" {
    mkdir empty
    cp "$(type -P true)" program
    run_apart "$REFRAIN" record program 'two words'
    expect_status 123
    [ "${stderr##*$'\n'}" = "hint: refrain record -- ./program 'two words'" ]
    chmod -x program
    run_apart "$REFRAIN" record ./program
    expect_status 123
    [ "${stderr##*$'\n'}" = "hint: chmod +x ./program" ]
    run_apart env PATH="$PWD/empty" "$REFRAIN" record mpirun -n 2 ./program
    expect_status 123
    [ "${stderr##*$'\n'}" = "hint: apt install openmpi-bin" ]
}

# Rank 0 kills the launcher, goes on receiving, and counts in a file how far it came.
@test "Open MPI: what a rank does after its launcher is gone belongs to the recording" {
    compile openmpi orphan << 'END_OF_PROGRAM'
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int word = 0;
    MPI_Init(&argc, &argv);
    alarm(60);
    int file = open("count", O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || ftruncate(file, sizeof(int)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    volatile int *count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (int i = 0; i < 100000; i++) {
        if (i == 1000)
            kill(getppid(), SIGKILL);
        MPI_Send(&word, 1, MPI_INT, 0, i * 79 % 1000, MPI_COMM_SELF);
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        *count = i + 1;
    }
    _exit(0);
}
END_OF_PROGRAM
    for round in 1 2 3 4 5; do
        run_apart "$REFRAIN" record -o trace mpirun.openmpi -n 1 ./orphan
        expect_status 137
        while pgrep -x orphan > /dev/null; do
            sleep 0.05
        done
        [ "$(od -An -td4 count)" -eq 100000 ]
        run_apart "$REFRAIN" info --json trace
        expect_status 0
        expect_in "$output" '"events": 100000,'
        rm -r trace
    done
}

# The same program twice: the second job must not be played in the order of the first.
check_later_job() {
    launch "$1" 2 recv_wildcard
    local first="${launch[*]}"
    launch "$1" "$2" recv_wildcard
    printf '%s\n' "$first" "echo between" "${launch[*]}" > jobs
    run_apart "$REFRAIN" record -m "$1" -o trace sh jobs
    expect_status 0
    [ "$(grep -c "a later MPI job of the command is not recorded" <<< "$stderr")" -eq 1 ]
    expect_in "$stderr" ", 2 ranks"
    local said=${output%%between*}
    run_apart "$REFRAIN" check trace
    expect_status 0
    for _ in 1 2 3; do
        run_apart "$REFRAIN" replay trace
        expect_status 0
        [ "$(sort <<< "${output%%between*}")" = "$(sort <<< "$said")" ]
        [ "$(grep -c "a later MPI job of the command runs free" <<< "$stderr")" -eq 1 ]
        expect_in "$stderr" "2 ranks, no difference"
    done
}

@test "Open MPI: only the first job of a command is recorded and replayed" { check_later_job openmpi 2; }
@test "MPICH: only the first job of a command is recorded and replayed" { check_later_job mpich 2; }
@test "only the first job, even if the second one has more ranks" { check_later_job openmpi 3; }

@test "a directory whose name is not UTF-8: JSON stays JSON, and says all" {
    local odd=$'caf\xe9'
    mkdir "$odd"
    cd "$odd"
    launch openmpi 2 recv_wildcard
    cp "${launch[3]}" program
    run_apart "$REFRAIN" record --json -o "$odd" "${launch[@]:0:3}" ./program
    expect_status 0
    expect_in "$stderr" '"recorded":"caf'
    for verb in check info "dump --limit 1" replay; do
        run_apart "$REFRAIN" $verb --json "$odd"
        expect_status 0
        grep -v "^rank" <<< "$output"$'\n'"$stderr" > said
        expect_in "$(python3 -c 'import json; print(json.JSONDecoder().raw_decode(open("said").read()))')" "caf"
    done
    run_apart "$REFRAIN" debug --rank 0 --batch refrain-where "$odd"
    expect_status 123
    expect_in "$stderr" "take no directories whose names are not UTF-8"
}
