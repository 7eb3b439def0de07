# What the end-to-end tests share. REFRAIN names the program under test; the test programs lie beside
# it. Every test runs in a directory of its own.

REFRAIN=${REFRAIN:-$BATS_TEST_DIRNAME/../../build/refrain}
REFRAIN=$(realpath "$REFRAIN")
PROGRAMS=$(dirname "$REFRAIN")/programs
SOURCES=$(realpath "$BATS_TEST_DIRNAME/../..")

# Containers run as root, and have fewer cores than we want ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
export OMPI_MCA_btl=self,vader # Open MPI 5 complains of networks that it cannot use
export PAGER=cat NO_COLOR=1
unset REFRAIN_DIR
# In seconds; only a hang takes this long.
PATIENCE=60

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Everything is installed by the set-up, so a test that lacks something fails.
missing() {
    echo "missing: $1"
    return 1
}

# Sets `launch` to the words that start $2 ranks of test program $3 with MPI $1.
launch() {
    local mpi=$1 ranks=$2 program=$3
    shift 3
    command -v "mpirun.$mpi" > /dev/null || missing "$mpi is not installed"
    [ -e "$(dirname "$REFRAIN")/lib/librefrain-$mpi.so" ] || missing "no adapter for $mpi"
    [ -x "$PROGRAMS/$mpi/$program" ] || missing "no test program $program for $mpi"
    launch=("mpirun.$mpi" -n "$ranks" "$PROGRAMS/$mpi/$program" "$@")
}

# Open MPI 5.0.7's mpirun crashes when a job has several programs.
skip_unless_several_programs() {
    "mpirun.$1" -n 1 true : -n 1 true > /dev/null 2>&1 || skip "mpirun.$1 itself fails with several programs"
}

# launch_copy ADAPTER PROGRAM [ARGUMENT...]: sets `launch` to a test program that needs no launcher, in a copy
# whose processes can be told from all others.
launch_copy() {
    local adapter=$1 program=$2
    shift 2
    [ -e "$(dirname "$REFRAIN")/lib/librefrain-$adapter.so" ] || missing "no library for $adapter"
    [ -x "$PROGRAMS/$adapter/$program" ] || missing "no test program $program for $adapter"
    cp "$PROGRAMS/$adapter/$program" "$program"
    launch=("$PWD/$program" "$@")
}

# No process of such a copy, and nothing in the directory that replays were given for their own files.
expect_nothing_left() {
    if pgrep -f "^$PWD/"; then
        echo "these processes were left behind"
        return 1
    fi
    [ -z "$(ls run)" ]
}

# run, with standard output in $output and standard error in $stderr.
run_apart() {
    status=0
    output=$("$@" 2> stderr.text) || status=$?
    stderr=$(cat stderr.text)
}

expect_status() {
    if [ "$status" -ne "$1" ]; then
        printf 'expected status %s, got %s\noutput: %s\nstderr: %s\n' "$1" "$status" "$output" "${stderr-}"
        return 1
    fi
}

# The text contains the words.
expect_in() {
    case $1 in
    *"$2"*) ;;
    *)
        printf 'expected: %s\nin: %s\n' "$2" "$1"
        return 1
        ;;
    esac
}

# Starts a recording of two ranks, one of which waits for ever, in the background, in a process group
# of its own; returns when both ranks are past MPI_Init. Sets `recorder`.
record_endless() {
    launch "$1" 2 branch endless
    mkdir log
    # A shell makes its background jobs deaf to interrupts; a terminal would not.
    PROGRAM_LOG=$PWD/log env --default-signal=INT setsid "$REFRAIN" record "${launch[@]}" \
        > recorded.text 2> recorder.text &
    recorder=$!
    until [ -e log/rank-0.log ] && [ -e log/rank-1.log ]; do
        sleep 0.05
    done
}

# compile MPI NAME [FLAG...]: a program of the test's own, from standard input. Sets `launch` to two ranks
# of it.
compile() {
    local mpi=$1 name=$2
    shift 2
    command -v "mpicc.$mpi" > /dev/null || missing "no compiler for $mpi"
    [ -e "$(dirname "$REFRAIN")/lib/librefrain-$mpi.so" ] || missing "no adapter for $mpi"
    cat > "$name.c"
    "mpicc.$mpi" -std=gnu17 -g -O1 "$@" -o "$name" "$name.c"
    launch=("mpirun.$mpi" -n 2 "./$name")
}
