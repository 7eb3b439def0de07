#!/usr/bin/env bats
# A rank alone, as the command line shows it: it ends as it did, what is damaged or not there is told,
# and so is a program that has changed.

load common

# record_until MPI GOOD|BAD PROGRAM [ARGUMENT...]: the trace of a run that ended well, or badly. Sets
# `launch` and `expected`; what the ranks observed is in recorded/.
record_until() {
    local mpi=$1 wanted=$2 ended
    shift 2
    launch "$mpi" 4 "$@"
    for _ in {1..50}; do
        rm -rf trace recorded
        mkdir recorded
        PROGRAM_LOG=$PWD/recorded run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
        expected=$status
        ended=bad
        [ "$status" -ne 0 ] || ended=good
        [ "$ended" != "$wanted" ] || return 0
    done
    echo "50 runs, none of which ended $wanted"
    return 1
}

extract() {
    mkdir -p ignored
    PROGRAM_LOG=$PWD/ignored run_apart timeout -k 5 60 "$REFRAIN" extract --rank "$1" trace
    expect_status 0
    expect_in "$stderr" "extracted: trace: rank"
}

# alone RANK: what it observes is in alone/; it is started as it was for the extraction.
alone() {
    rm -rf alone ignored
    mkdir ignored
    run_apart timeout -k 5 30 "$REFRAIN" replay --rank "$1" trace
    mv ignored alone
}

# expect_end RANK STATUS: it ends like that every time, after all that it observed.
expect_end() {
    local said
    said=$(grep "^rank $1: " <<< "$output" || true)
    for _ in 1 2; do
        alone "$1"
        expect_status "$2"
        [ "$output" = "$said" ]
        expect_in "$stderr" "rank $1 alone"
        expect_in "$stderr" "no difference"
        [ "$(ls alone)" = "rank-$1.log" ]
        cmp "recorded/rank-$1.log" "alone/rank-$1.log"
    done
}

# ---- ends ----

# check_crash MPI HOW STATUS: rank 1 alone ends as it did, each of the others where it waited.
check_crash() {
    local said
    record_until "$1" bad crash "$2"
    expect_status "$3"
    said=$output
    extract 0-3
    output=$said
    expect_end 1 "$3"
    [ "$2" != assert ] || expect_in "$stderr" "Assertion"
    # The launcher ends the others at a moment of its own.
    for rank in 0 2 3; do
        alone $rank
        expect_status 143
        expect_in "$stderr" "rank $rank was ended in this call, MPI_"
        expect_in "$stderr" "rank $rank alone: 0"
        expect_in "$stderr" "no difference"
        # At another one than before, so that either may have said more.
        said=$(stat -c %s "alone/rank-$rank.log" "recorded/rank-$rank.log" | sort -n | head -n 1)
        cmp -n "$said" "recorded/rank-$rank.log" "alone/rank-$rank.log"
    done
}

@test "Open MPI: alone, a segmentation fault" { check_crash openmpi segfault 139; }
@test "MPICH: alone, a segmentation fault" { check_crash mpich segfault 139; }
@test "Open MPI: alone, a stack that overflows" { check_crash openmpi overflow 139; }
@test "MPICH: alone, a stack that overflows" { check_crash mpich overflow 139; }
@test "Open MPI: alone, abort()" { check_crash openmpi abort 134; }
@test "MPICH: alone, abort()" { check_crash mpich abort 134; }
@test "Open MPI: alone, a failed assertion" { check_crash openmpi assert 134; }
@test "MPICH: alone, a failed assertion" { check_crash mpich assert 134; }
@test "Open MPI: alone, MPI_Abort" { check_crash openmpi mpi_abort 7; }
@test "MPICH: alone, MPI_Abort" { check_crash mpich mpi_abort 7; }
@test "Open MPI: alone, exit() without MPI_Finalize" { check_crash openmpi exit 3; }
@test "MPICH: alone, exit() without MPI_Finalize" { check_crash mpich exit 3; }

# check_order MPI: a crash in some orders only, and an order in which all goes well.
check_order() {
    local said
    record_until "$1" bad crash order
    expect_status 139
    said=$output
    extract 1
    output=$said
    expect_end 1 139
    record_until "$1" good crash order
    said=$output
    extract 1
    output=$said
    expect_end 1 0
}

@test "Open MPI: a crash in some orders comes back alone" { check_order openmpi; }
@test "MPICH: a crash in some orders comes back alone" { check_order mpich; }

# check_unseen MPI STEP: a receive had its message, for which a sender had waited, and nobody had asked yet
# when rank 1 crashed. The program may have freed it.
check_unseen() {
    local mpi=$1
    compile "$mpi" unseen "-DSTEP=$2" << 'EOT'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { COUNT = 300000 };
static int in[COUNT], out[COUNT];
int main(int argc, char **argv) {
    MPI_Request request;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out[0] = rank + 5;
    MPI_Irecv(in, COUNT, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
#if STEP == 2
    MPI_Request_free(&request);
#endif
    MPI_Send(out, COUNT, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
#if STEP == 2
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: got %d\n", rank, in[0]);
    fflush(stdout);
#endif
    if (rank == 1)
        abort();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
EOT
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 134
    expected=$output
    run_apart timeout -k 5 60 "$REFRAIN" extract --rank 1 trace
    expect_status 0
    run_apart timeout -k 5 30 "$REFRAIN" replay --rank 1 trace
    expect_status 134
    expect_in "$stderr" "no difference"
    [ "$output" = "$(grep '^rank 1' <<< "$expected")" ]
}

@test "Open MPI: alone, a crash while nobody has seen what a receive took" { check_unseen openmpi 1; }
@test "MPICH: alone, a crash while nobody has seen what a receive took" { check_unseen mpich 1; }
@test "Open MPI: alone, a crash behind a freed receive" { check_unseen openmpi 2; }
@test "MPICH: alone, a crash behind a freed receive" { check_unseen mpich 2; }

# One thread of rank 1 crashes while three others are in MPI.
check_thread_crash() {
    record_until "$1" bad thr_crash "${@:2}"
    local said recorded=$expected
    said=$(grep '^rank 1: ' <<< "$output")
    extract 0-3
    for _ in 1 2; do
        alone 1
        expect_status 139
        [ "$output" = "$said" ]
        expect_in "$stderr" "no difference; the recorded rank was ended by SIGSEGV"
    done
    alone 2
    expect_status 143
    expect_in "$stderr" "rank 2 was ended in this call, MPI_"
    mkdir ignored
    run_apart timeout -k 5 60 "$REFRAIN" debug --rank 1 --batch 'frame function receive; print world_rank; info threads' trace
    expect_status 0
    expect_in "$output" '$1 = 1'
    expect_in "$stderr" "rank 1 stopped by SIGSEGV"
    [ "$recorded" -eq 139 ]
}

@test "Open MPI: alone, a crash in one of several threads" { check_thread_crash openmpi; }
@test "MPICH: alone, a crash in one of several threads" { check_thread_crash mpich; }
# The others have nothing more to do for longer than a rank alone usually waits.
@test "Open MPI: alone, a late crash in one of several threads" { check_thread_crash openmpi late; }
@test "MPICH: alone, a late crash in one of several threads" { check_thread_crash mpich late; }

# One thread of rank 1 kills the process, which nobody can catch, while the others have something left to do.
check_thread_kill() {
    record_until "$1" bad thr_crash kill
    expect_status 137
    local said
    said=$(grep '^rank 1: ' <<< "$output")
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 1 was ended by SIGKILL after"
    extract 1
    for _ in 1 2; do
        alone 1
        expect_status 137
        [ "$output" = "$said" ]
        expect_in "$stderr" "no difference"
    done
}

@test "Open MPI: alone, one of several threads kills the process" { check_thread_kill openmpi; }
@test "MPICH: alone, one of several threads kills the process" { check_thread_kill mpich; }

# check_fatal MPI RANK CALL PROGRAM [ARGUMENT...]: the library ends the rank inside a call; alone it ends in that
# call, with the status that the job had, and says why.
check_fatal() {
    local mpi=$1 rank=$2 call=$3
    shift 3
    record_until "$mpi" bad "$@"
    extract "$rank"
    for _ in 1 2; do
        alone "$rank"
        expect_status "$expected"
        expect_in "$stderr" "Fatal error in $call: "
        expect_in "$stderr" "rank $rank alone"
        expect_in "$stderr" "no difference"
    done
}

@test "Open MPI: an error that is fatal ends the rank alone in the same way" { check_fatal openmpi 0 MPI_Recv truncate; }
@test "MPICH: an error that is fatal ends the rank alone in the same way" { check_fatal mpich 0 MPI_Recv truncate; }

# check_handlers MPI STATUS: the program finds the error handlers that it expects, some errors are its own
# affair, and one of several requests that fail together ends it.
check_handlers() {
    compile "$1" handlers << 'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, words[8] = {0}, code;
    MPI_Comm copy;
    MPI_Errhandler handler;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0)
        for (int i = 0; i < 3; i++)
            MPI_Send(words, 4, MPI_INT, 1, i, copy);
    if (rank == 1) {
        MPI_Comm_get_errhandler(copy, &handler);
        MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
        code = MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 0, copy, statuses);
        printf("rank 1: %d %d\n", handler == MPI_ERRORS_ARE_FATAL, code != MPI_SUCCESS);
        fflush(stdout);
        MPI_Comm_set_errhandler(copy, handler);
        MPI_Errhandler_free(&handler);
        MPI_Irecv(words, 1, MPI_INT, 0, 1, copy, &requests[0]);
        MPI_Irecv(words + 4, 4, MPI_INT, 0, 2, copy, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        printf("rank 1 goes on\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status "$2"
    extract 1
    for _ in 1 2; do
        alone 1
        expect_status "$2"
        [ "$output" = "rank 1: 1 1" ]
        expect_in "$stderr" "Fatal error in MPI_Waitall: "
        expect_in "$stderr" "no difference"
    done
}

@test "Open MPI: error handlers in front of an end alone" { check_handlers openmpi 15; }
@test "MPICH: error handlers in front of an end alone" { check_handlers mpich 17; }

# compile_ends MPI: rank 0 ends inside a call: the arguments say where and how.
compile_ends() {
    compile "$1" ends << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(name) (strcmp(where, name) == 0)

static const char *where, *how;
static int rank, words[4];

static void leave(MPI_Comm comm) {
    int size = 2;
    if (!AT("free")) /* what a callback got is kept when its call has ended */
        MPI_Comm_size(comm, &size);
    printf("rank %d of %d leaves\n", rank, size);
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        MPI_Abort(comm, 9);
    if (strcmp(how, "exit") == 0)
        exit(12);
    abort();
}

static void handler(MPI_Comm *comm, int *code, ...) {
    leave(*comm);
}

static void add(void *in, void *out, int *count, MPI_Datatype *type) {
    if (rank == 0)
        *(volatile int *)8 = 1;
}

static int leave_now(MPI_Comm comm, int key, void *value, void *state) {
    if (rank == 0)
        leave(comm);
    return MPI_SUCCESS;
}

static int leave_late(MPI_Comm comm, int key, void *value, void *state) {
    if (rank == 0)
        leave(comm);
    return MPI_SUCCESS;
}

static void fail(void) {
    int word, flag = 0;
    MPI_Request request;
    if (AT("send"))
        MPI_Send((void *)8, 100, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (AT("receive"))
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (AT("wildcard"))
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (AT("tag"))
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, -77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (AT("wait") || AT("test"))
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    if (AT("wait"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (AT("test") && !flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int key;
    MPI_Errhandler errors;
    MPI_Op op;
    MPI_Comm copy;
    where = argv[1];
    how = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    MPI_Errhandler_free(&errors);
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_late, &key, NULL);
    if (AT("finalize"))
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    if (rank == 1) {
        MPI_Send(words, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Send(words, 4, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fail();
    }
    if (AT("free")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_now, &key, NULL);
        MPI_Comm_set_attr(copy, key, NULL);
        MPI_Comm_free(&copy);
    }
    if (AT("reduce"))
        MPI_Reduce(words, words + 1, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
}

# record_ends SCHEME WHERE HOW
record_ends() {
    rm -rf trace
    run_apart timeout -k 5 60 "$REFRAIN" record -q --scheme "$1" -o trace "${launch[@]}" "$2" "$3"
    [ "$status" -ne 0 ]
    [ "$1" = data ] || extract 0
}

# check_inside MPI: a crash in the library, and in an operation that it calls. The signal comes in that call.
check_inside() {
    compile_ends "$1"
    for scheme in data order; do
        for place in send:MPI_Send reduce:MPI_Reduce; do
            record_ends "$scheme" "${place%:*}" -
            alone 0
            expect_status 139
            expect_in "$stderr" "rank 0 was ended by SIGSEGV inside this call, ${place#*:}, "
            expect_in "$stderr" "no difference; the recorded rank was ended by SIGSEGV"
        done
    done
    run_apart timeout -k 5 60 "$REFRAIN" debug --rank 0 --batch bt trace
    expect_in "$stderr" "rank 0 stopped by SIGSEGV"
    expect_in "$output" " in main "
}

@test "Open MPI: alone, a crash inside a call" { check_inside openmpi; }
@test "MPICH: alone, a crash inside a call" { check_inside mpich; }

# check_last_words MPI: an error handler or another callback ends the process. Alone it is called, and ends it in the same way.
check_last_words() {
    compile_ends "$1"
    for scheme in order data; do
        for place in receive:abort:9 receive:exit:12 receive:signal:134 wildcard:abort:9 wildcard:exit:12 \
            tag:abort:9 tag:signal:134 free:abort:9 free:exit:12 free:signal:134 wait:abort:9 test:abort:9 test:signal:134; do
            local way=${place#*:}
            record_ends "$scheme" "${place%%:*}" "${way%:*}"
            alone 0
            expect_status "${way#*:}"
            [ "$output" = "rank 0 of 2 leaves" ]
            expect_in "$stderr" "no difference"
        done
    done
}

@test "Open MPI: alone, an error handler that ends the process" { check_last_words openmpi; }
@test "MPICH: alone, an error handler that ends the process" { check_last_words mpich; }

# check_finalize MPI HOW STATUS ENDING: a callback in MPI_Finalize ends the process.
check_finalize() {
    compile_ends "$1"
    for scheme in order data; do
        record_ends "$scheme" finalize "$2"
        run_apart "$REFRAIN" info trace
        expect_in "$output" "rank 0 $4 in MPI_Finalize at ends.c:"
        run_apart timeout -k 5 60 "$REFRAIN" replay trace
        expect_status "$3"
        alone 0
        expect_status "$3"
        expect_in "$stderr" "the recorded rank $4 in MPI_Finalize at ends.c:"
    done
}

@test "Open MPI: a crash inside MPI_Finalize" { check_finalize openmpi - 134 "was ended by SIGABRT"; }
@test "MPICH: a crash inside MPI_Finalize" { check_finalize mpich - 134 "was ended by SIGABRT"; }
@test "Open MPI: an exit inside MPI_Finalize" { check_finalize openmpi exit 12 "exited with status 12"; }
@test "MPICH: an exit inside MPI_Finalize" { check_finalize mpich exit 12 "exited with status 12"; }

# check_inheritance MPI: attributes of MPI_COMM_SELF are not handed on to what does not come from it.
check_inheritance() {
    compile "$1" inheritance << 'END'
#include <mpi.h>
#include <stdio.h>

static int rank;

static int hand_on(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    printf("rank %d: copied\n", rank);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int key, found;
    void *value;
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(hand_on, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
    MPI_Comm_get_attr(part, key, &value, &found);
    printf("rank %d: found %d\n", rank, found);
    MPI_Comm_free(&part);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 0
    extract 0
    alone 0
    expect_status 0
    [ "$output" = "rank 0: found 0" ]
}

@test "Open MPI: alone, attributes of MPI_COMM_SELF stay there" { check_inheritance openmpi; }
@test "MPICH: alone, attributes of MPI_COMM_SELF stay there" { check_inheritance mpich; }

# check_second_open MPI: the library has copied the communicator when a file turns out not to be there. What the
# callbacks of its attributes got is not that of the second attempt.
check_second_open() {
    compile "$1" second << 'END'
#include <mpi.h>
#include <stdio.h>

static int hand_on(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *state) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank, size, key, code;
    MPI_File file;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_keyval(hand_on, forget, &key, NULL);
    MPI_Comm_set_attr(copy, key, &key);
    code = MPI_File_open(copy, "data", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS)
        MPI_File_open(copy, "data", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file);
    MPI_Comm_size(copy, &size);
    printf("rank %d: %d %d\n", rank, code != MPI_SUCCESS, size);
    MPI_File_close(&file);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 0
    extract 0
    alone 0
    expect_status 0
    [ "$output" = "rank 0: 1 2" ]
    expect_in "$stderr" "no difference"
}

@test "Open MPI: alone, a file that is opened at the second attempt" { check_second_open openmpi; }
@test "MPICH: alone, a file that is opened at the second attempt" { check_second_open mpich; }

# check_no_file MPI: an error handler that ends the process hears of no file where none was opened, alone as well.
check_no_file() {
    compile "$1" nofile << 'END'
#include <mpi.h>
#include <stdio.h>

static int rank;

static void leave(MPI_File *file, int *code, ...) {
    printf("rank %d: %d\n", rank, *file == MPI_FILE_NULL);
    fflush(stdout);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
}

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Errhandler errors;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_create_errhandler(leave, &errors);
    MPI_File_set_errhandler(MPI_FILE_NULL, errors);
    MPI_File_open(MPI_COMM_WORLD, "nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 9
    extract 0
    alone 0
    expect_status 9
    [ "$output" = "rank 0: 1" ]
    expect_in "$stderr" "no difference"
}

@test "Open MPI: alone, an error handler for no file" { check_no_file openmpi; }
@test "MPICH: alone, an error handler for no file" { check_no_file mpich; }

# check_others_inside MPI: one of two threads ends the process inside a call, earlier in the extraction than in the
# recording. Alone, the other one does all that it did.
check_others_inside() {
    compile "$1" inside -pthread << 'END'
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static const char *how;
static MPI_Comm copy;

static atomic_bool gone_on;

static void *go_on(void *unused) {
    for (int i = 0, word; i < 5; i++) {
        usleep(20000);
        MPI_Sendrecv(&i, 1, MPI_INT, !rank, 0, &word, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank %d: %d\n", rank, word);
        fflush(stdout);
    }
    gone_on = 1;
    return unused;
}

static void leave(void *in, void *out, int *count, MPI_Datatype *type) {
    if (rank != 0)
        return;
    usleep(50000); /* launchers may drop the output that they have not read */
    if (strcmp(how, "exit") == 0)
        exit(12);
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    abort();
}

int main(int argc, char **argv) {
    int level, words[2] = {0};
    MPI_Op op;
    pthread_t thread;
    how = argv[1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Op_create(leave, 1, &op);
    pthread_create(&thread, NULL, go_on, NULL);
    while (getenv("LAST") && !gone_on)
        usleep(1000);
    MPI_Reduce(words, words + 1, 1, MPI_INT, op, 0, copy);
    pthread_join(thread, NULL);
    MPI_Barrier(copy);
    MPI_Finalize();
    return 0;
}
END
    local said
    said=$(printf 'rank 0: %d\n' 0 1 2 3 4)
    for way in signal:134 exit:12 abort:9; do
        rm -rf trace
        LAST=1 run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}" "${way%:*}"
        [ "$(grep '^rank 0: ' <<< "$output")" = "$said" ]
        extract 0
        alone 0
        expect_status "${way#*:}"
        [ "$output" = "$said" ]
        expect_in "$stderr" "no difference"
    done
}

@test "Open MPI: alone, a thread that ends the process inside a call comes last" { check_others_inside openmpi; }
@test "MPICH: alone, a thread that ends the process inside a call comes last" { check_others_inside mpich; }

# A rank that looks at shared memory again and again, without a call: alone nothing comes, which is told.
@test "alone, a rank that watches shared memory" {
    compile openmpi watch << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, *flag;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate_shared(sizeof *flag, sizeof *flag, MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &win);
    *flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    /* What is stored while rank 0 is in a call is kept with the call. */
    if (rank == 0) {
        fclose(fopen("watching", "w"));
        while (!*(volatile int *)flag)
            ;
    } else {
        while (access("watching", F_OK) != 0)
            usleep(1000);
        flag[-1] = 1;
    }
    printf("rank %d: seen\n", rank);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -o trace "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "not recorded: MPI_Win_allocate_shared"
    rm watching
    extract 0-1
    alone 1
    expect_status 0
    [ "$output" = "rank 1: seen" ]
    run_apart timeout 3 "$REFRAIN" replay --rank 0 --stall-timeout 1 trace
    expect_in "$stderr" "rank 0 has made no call for 1 second; if it watches the memory of a window"
}

# ---- files ----

# expect_refused TEXT: nothing is run.
expect_refused() {
    alone 0
    expect_status 122
    expect_in "$stderr" "$1"
    expect_in "$stderr" "hint: refrain extract --rank 0"
    [ -z "$output" ]
    [ -z "$(ls alone)" ]
}

check_damage() {
    record_until "$1" good recv_wildcard
    extract 0
    mv trace whole
    local size
    size=$(stat -c %s whole/rank-0.contents)
    for cut in 0 10 100 $((size / 2)) $((size - 1)); do
        rm -rf trace
        cp -r whole trace
        truncate -s "$cut" trace/rank-0.contents
        expect_refused "rank-0.contents: is cut off"
    done
    for place in 8 40 $((size / 2)) $((size - 20)); do
        rm -rf trace
        cp -r whole trace
        printf '\252\125\252' | dd of=trace/rank-0.contents bs=1 seek="$place" conv=notrunc status=none
        expect_refused "rank-0.contents: "
    done
    rm -rf trace
    cp -r whole trace
    rm trace/rank-0.contents
    expect_refused "rank 0 was not extracted"
    cp whole/rank-0.contents trace
    echo '{"arguments": ' > trace/rank-0.start
    expect_refused "rank-0.start: damaged"
    rm trace/rank-0.start
    expect_refused "rank 0 was not extracted"
    # A new extraction makes it whole.
    extract 0
    alone 0
    expect_status 0
}

@test "Open MPI: damaged and missing contents are told" { check_damage openmpi; }
@test "MPICH: damaged and missing contents are told" { check_damage mpich; }

# What a crash left, of which a part is not yet compressed.
check_tail() {
    record_until "$1" bad crash segfault
    extract 1
    [ -s trace/rank-1.contents.tail ]
    rm trace/rank-1.contents.tail
    alone 1
    expect_status 122
    expect_in "$stderr" "rank-1.contents"
    [ -z "$output" ]
}

@test "Open MPI: contents without their tail are told" { check_tail openmpi; }
@test "MPICH: contents without their tail are told" { check_tail mpich; }

check_others() {
    local said
    record_until "$1" good recv_wildcard
    said=$output
    extract 0
    cp trace/rank-0.contents before
    extract 2
    extract 1,3
    cmp before trace/rank-0.contents
    for rank in 0 1 2 3; do
        output=$said
        expect_end $rank 0
    done
    run_apart "$REFRAIN" extract --rank 4 trace
    [ "$status" -ne 0 ]
    expect_in "$stderr" "4"
    cmp before trace/rank-0.contents
}

# Of words and variables, UTF-8 or not, a rank alone gets every byte.
check_words() {
    compile "$1" words <<'PROGRAM'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    printf("%s|%s|%s\n", argv[1], argv[2], getenv("ODD"));
    MPI_Finalize();
}
PROGRAM
    export ODD=$'\xe9"\xc3'
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "mpirun.$1" -n 1 ./words $'caf\xc3\xa9' $'caf\xe9'
    expect_status 0
    [ "$output" = $'caf\xc3\xa9|caf\xe9|\xe9"\xc3' ]
    local said=$output
    extract 0
    unset ODD
    alone 0
    expect_status 0
    [ "$output" = "$said" ]
}

@test "Open MPI: words that are not ASCII reach a rank alone" { check_words openmpi; }
@test "MPICH: words that are not ASCII reach a rank alone" { check_words mpich; }

@test "one extraction into a trace at a time" {
    record_until openmpi good recv_wildcard
    extract 0
    run_apart flock trace "$REFRAIN" extract --rank 0 trace
    expect_status 123
    expect_in "$stderr" "refrain: trace: another extraction into this trace is under way"
    alone 0
    expect_status 0
}

@test "Open MPI: what was extracted stays when others are" { check_others openmpi; }
@test "MPICH: what was extracted stays when others are" { check_others mpich; }

# Ranks alone at the same time know nothing of one another, and leave nothing behind.
check_at_once() {
    record_until "$1" good recv_wildcard
    extract 0-3
    mkdir places
    for _ in 1 2 3 4 5; do
        for rank in 0 1 2 3; do
            TMPDIR=$PWD/places timeout -k 5 60 "$REFRAIN" replay --rank $rank trace > "said-$rank" 2>&1 &
        done
        wait
        for rank in 0 1 2 3; do
            expect_in "$(cat said-$rank)" "rank $rank alone"
            expect_in "$(cat said-$rank)" "no difference"
        done
    done
    [ -z "$(ls places)" ]
    record_until "$1" bad crash segfault
    extract 1
    TMPDIR=$PWD/places run_apart timeout -k 5 60 "$REFRAIN" replay --rank 1 trace
    expect_status 139
    [ -z "$(ls places)" ]
}

@test "Open MPI: ranks alone at the same time" { check_at_once openmpi; }
@test "MPICH: ranks alone at the same time" { check_at_once mpich; }

# ---- programs ----

# relay MPI [FLAG...]: rank 0 adds up what the other sends; then it asks for more, or not.
relay() {
    compile "$@" << 'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, word = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        if (rank == 0) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += word * i;
        } else {
            word = i * i;
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
#ifdef CHANGED
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#else
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
#endif
#ifdef SAYS_MORE
    printf("rank %d says more\n", rank);
#endif
    printf("rank %d: %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
END
}

check_rebuilt() {
    relay "$1" relay
    "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text
    extract 0-1
    relay "$1" relay -O2 -DSAYS_MORE
    for rank in 0 1; do
        alone $rank
        expect_status 0
        [ "$output" = "rank $rank says more
$(grep "^rank $rank: " recorded.text)" ]
    done
    # Other calls than those that were kept.
    relay "$1" relay -DCHANGED
    for rank in 0 1; do
        alone $rank
        expect_status 121
        expect_in "$stderr" "the replay diverged: rank $rank"
        expect_in "$stderr" "came      MPI_Allreduce at relay.c:17"
        [ -z "$output" ]
    done
}

@test "Open MPI: a rank alone may be rebuilt, but not make other calls" { check_rebuilt openmpi; }
@test "MPICH: a rank alone may be rebuilt, but not make other calls" { check_rebuilt mpich; }

# A script puts a library before ours. It changes how MPI is initialised, in the job and alone.
check_preloaded_before() {
    compile "$1" level << 'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, level;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Query_thread(&level);
    printf("rank %d: %s\n", rank, level == MPI_THREAD_SERIALIZED ? "serialized" : "another level");
    MPI_Finalize();
    return 0;
}
END
    "mpicc.$1" -shared -fPIC -o before.so -x c - << 'END'
#include <mpi.h>
int MPI_Init(int *argc, char ***argv) {
    int level;
    return PMPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
}
END
    printf '#!/bin/sh\nLD_PRELOAD=%s/before.so:$LD_PRELOAD exec ./level\n' "$PWD" > started
    chmod +x started
    "$REFRAIN" record -q -o trace "mpirun.$1" -n 2 ./started > recorded.text
    [ "$(sort recorded.text)" = "rank 0: serialized
rank 1: serialized" ]
    extract 1
    alone 1
    expect_status 0
    [ "$output" = "rank 1: serialized" ]
}

@test "Open MPI: what was preloaded before Refrain is so alone" { check_preloaded_before openmpi; }
@test "MPICH: what was preloaded before Refrain is so alone" { check_preloaded_before mpich; }
