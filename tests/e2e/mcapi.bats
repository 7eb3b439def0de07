#!/usr/bin/env bats
# The command line on MCAPI programs, whose nodes are threads of one process or processes that it
# forks: --processes is an option of the test programs, not of Refrain.

load common

EXAMPLES=$(dirname "$REFRAIN")/examples/mcapi

mcapi() {
    launch_copy mcapi "$@"
}

# logged DIRECTORY COMMAND...: runs it with the nodes' own logs in DIRECTORY.
logged() {
    local directory=$1
    shift
    mkdir "$directory"
    PROGRAM_LOG=$PWD/$directory run_apart timeout -k 5 $PATIENCE "$@"
}

line_of() {
    grep -n -m 1 "$2" "$SOURCES/tests/programs/mcapi/$1" | cut -d: -f1
}

# ---- record and replay

# check_example NAME [ARGUMENT...]: five replays print what the recording printed, in any order.
check_example() {
    local name=$1
    shift
    "$REFRAIN" record -q -o trace "$EXAMPLES/$name" "$@" > recorded.text
    [ -s recorded.text ]
    for _ in 1 2 3 4 5; do
        run_apart timeout $PATIENCE "$REFRAIN" replay trace
        expect_status 0
        [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
        expect_in "$stderr" "no difference"
    done
}

@test "all_to_all: threads" { check_example all_to_all; }
@test "all_to_all: processes" { check_example all_to_all --processes; }
@test "all_to_all: 16 nodes" { check_example all_to_all 16; }
@test "wait_any: threads" { check_example wait_any; }
@test "wait_any: processes" { check_example wait_any --processes; }
@test "polling: threads" { check_example polling; }
@test "polling: processes" { check_example polling --processes; }
@test "five_nodes: threads" { check_example five_nodes; }
@test "five_nodes: processes" { check_example five_nodes --processes; }
@test "two_orders: threads" { check_example two_orders; }
@test "two_orders: processes" { check_example two_orders --processes; }

# The assertion of the paper's figure 8 fails in some runs: such a run fails again and again, and a
# good one never does.
check_assertion() {
    local wanted expected ended
    for wanted in bad good; do
        for _ in {1..100}; do
            rm -rf trace
            run_apart "$REFRAIN" record -q -o trace "$EXAMPLES/five_nodes" --assert "$@"
            ended=bad
            [ "$status" -ne 0 ] || ended=good
            [ "$ended" != $wanted ] || break
        done
        [ "$ended" = $wanted ]
        expected=$status
        local node_2
        node_2=$(grep '^node 2: ' <<< "$output")
        for _ in 1 2 3 4 5; do
            run_apart timeout $PATIENCE "$REFRAIN" replay -q trace
            expect_status "$expected"
            [ "$(grep '^node 2: ' <<< "$output")" = "$node_2" ]
        done
    done
}

@test "an assertion that fails in some orders: threads" { check_assertion; }
@test "an assertion that fails in some orders: processes" { check_assertion --processes; }

# ---- others are sooner or later than they were

# check_late CASE RECORDED REPLAYED [ARGUMENT]: node RECORDED is late in the recording, node REPLAYED in
# the replay, and yet all are told the same. OPTIONS: of record.
check_late() {
    mcapi late "$1" ${4:+"$4"}
    rm -rf trace
    # shellcheck disable=SC2086 # words
    PROGRAM_LATE=$2 timeout $PATIENCE "$REFRAIN" record -q $OPTIONS -o trace "${launch[@]}" > recorded.text
    [ -s recorded.text ]
    PROGRAM_LATE=$3 run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 10 trace
    expect_status 0
    [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
    expect_in "$stderr" "no difference"
}

@test "late: what was complete at once is so again: channels, and endpoints that were looked up" {
    check_late channels 0 1
    check_late channels 1 0 --processes
    check_late found 0 1 --processes
}
@test "late: several threads send over channels that are made one after the other" {
    OPTIONS=--threads check_late crowded 0 1 --processes
}
@test "late: a request that ended with an error is told as such" { check_late failed "" ""; }
@test "late: attributes of others are those that were seen" {
    check_late attributes 1 2
    check_late attributes 2 1 --processes
}
@test "late: a node that has ended, and begins again" { check_late again "" "" --processes; }
@test "late: endpoints are found whose process has ended" { check_late gone 1 0 --processes; }
@test "late: an answer to an endpoint that was gone" { check_late reply "" ""; }
@test "late: a queue that others fill first is no obstacle" {
    check_late full 2 1
    check_late full 2 1 --processes
    check_late flooded "" ""
}
@test "late: who is far ahead does not keep others from sending" {
    check_late ahead 0 1
    check_late ahead "" 1 --processes
}

@test "late: an endpoint that is made again is found as it was found" {
    check_late reborn 1 0
    check_late reborn 0 1 --processes
    check_late twins "" ""
}
@test "late: what was taken from an endpoint or a channel stays" {
    check_late taken "" ""
    check_late taken "" "" --processes
    check_late given_back "" ""
    OPTIONS=--threads check_late given_back "" "" --processes
}
@test "late: a channel that was not open yet, or is open too soon" {
    check_late unopened 1 0
    check_late unopened 1 0 --processes
    check_late hasty 0 1 --processes
}

@test "past the end of a recording calls end as they do without one" {
    mcapi late cut
    "${launch[@]}" > plain.text
    PROGRAM_KILL=1 run "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 137
    run_apart timeout $PATIENCE "$REFRAIN" replay -q --stall-timeout 10 trace
    [ "$output" = "$(cat plain.text)" ]
}

@test "endpoints that are made again: order replays them, sender names them" {
    check_late remade "" ""
    mcapi late remade
    run_apart "$REFRAIN" record -s sender -o sender "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "not recorded: scheme sender: endpoints made again"
}

# ---- info, dump and check

check_reading() {
    mcapi branch "$@"
    "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "command    $PWD/branch"
    expect_in "$output" "library    Refrain's MCAPI runtime"
    expect_in "$output" "scheme     order"
    run_apart "$REFRAIN" info --json trace
    python3 -c '
import json, sys
info = json.load(sys.stdin)
assert [node["rank"] for node in info["nodes"]] == [0, 1, 2, 3], info["nodes"]
assert all("finished" in node["ending"] for node in info["nodes"]), info["nodes"]' <<< "$output"
    run_apart "$REFRAIN" dump --rank 0 trace
    expect_status 0
    # Three receives are posted before a wait-any over them, and the others are blocking ones.
    [ "$(grep -c ' mcapi_msg_recv_i .*source [123], tag 1' <<< "$output")" -eq 3 ]
    [ "$(grep -c " mcapi_wait_any .*branch.c:$(line_of branch.c mcapi_wait_any)" <<< "$output")" -eq 1 ]
    expect_in "$output" " mcapi_msg_recv "
    run_apart "$REFRAIN" dump --rank 1 trace
    expect_status 0
    [ "$(grep -c 'mcapi_msg_recv' <<< "$output")" -eq 0 ]
    run_apart "$REFRAIN" check trace
    expect_status 0
    expect_in "$output" "rank 3: whole"
}

@test "info, dump and check: threads" { check_reading; }
@test "info, dump and check: processes" { check_reading --processes; }

# ---- divergence

# check_branch NODE BRANCH ARGUMENT TEXT...: the node that matches NODE is told of, and every TEXT.
check_branch() {
    local node=$1 branch=$2 argument=$3
    shift 3
    mkdir run
    # shellcheck disable=SC2086 # none is none
    mcapi branch $argument
    "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text
    PROGRAM_BRANCH=$branch TMPDIR=$PWD/run \
        run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 0 trace
    expect_status 121
    [[ $stderr =~ "refrain: the replay diverged: rank "($node)", event "([0-9]+)": " ]]
    for text in "  expected  " "  came      " "$@"; do
        expect_in "$stderr" "$text"
    done
    expect_nothing_left
}

# Sender and receiver differ at about the same time: either may be the first.
more() { check_branch "[01]" more "$1"; }
less() { check_branch "[01]" less "$1"; }
size() { check_branch 1 size "$1" "  came      mcapi_msg_send at observed.h:"; }
function_() {
    check_branch 0 function "$1" "mcapi_msg_recv at observed.h:" "  came      mcapi_msg_recv_i at observed.h:"
}
count() {
    local wait
    wait="mcapi_wait_any at branch.c:$(line_of branch.c mcapi_wait_any)"
    check_branch 0 count "$1" "the program waits for one of 2 requests, recorded were 3" "  expected  $wait" \
        "  came      $wait"
}
room() {
    check_branch 0 room "$1" "  came      mcapi_msg_recv at branch.c:$(line_of branch.c 'mcapi_msg_recv(local')"
}
endless() { check_branch 0 endless "$1" "  came      mcapi_msg_recv at observed.h:"; }

@test "one message more: threads" { more ""; }
@test "one message more: processes" { more --processes; }
@test "one message less: threads" { less ""; }
@test "one message less: processes" { less --processes; }
@test "a message of another size: threads" { size ""; }
@test "a message of another size: processes" { size --processes; }
@test "another function: threads" { function_ ""; }
@test "another function: processes" { function_ --processes; }
@test "another number of requests: threads" { count ""; }
@test "another number of requests: processes" { count --processes; }
@test "another length of a buffer: threads" { room ""; }
@test "another length of a buffer: processes" { room --processes; }
@test "a receive for which nobody sends: threads" { endless ""; }
@test "a receive for which nobody sends: processes" { endless --processes; }

@test "another program" {
    mcapi branch
    mkdir run
    "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text
    TMPDIR=$PWD/run run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 0 trace -- \
        "$PROGRAMS/mcapi/recv"
    expect_status 121
    expect_in "$stderr" "the command differs"
    expect_nothing_left
}

lines() {
    if [ -e "$1" ]; then wc -l < "$1"; else echo 0; fi
}

# The recording is of a job in which node 0 waits for ever: so does the replay, without a difference.
# OPTIONS: of record.
OPTIONS=
check_stall() {
    mcapi branch endless "$@"
    mkdir log run
    # shellcheck disable=SC2086 # words
    PROGRAM_LOG=$PWD/log "$REFRAIN" record -q $OPTIONS -o trace "${launch[@]}" > recorded.text 2> recorder.text &
    local recorder=$!
    # One line at the start, one for the index, three for each of the 24 messages.
    until [ "$(lines log/node-0.log)" -ge $((2 + 24 * 3)) ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || [ $? -eq 143 ]
    TMPDIR=$PWD/run run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 3 trace
    expect_status 121
    expect_in "$stderr" "refrain: the replay stands still"
    expect_in "$stderr" "  rank 0 "
    expect_in "$stderr" "mcapi_msg_recv at observed.h:"
    expect_nothing_left
}

@test "an endless wait ends with the stall timeout: threads" { check_stall; }
@test "an endless wait ends with the stall timeout: processes" { check_stall --processes; }
@test "an endless wait ends with the stall timeout: with the order of threads" {
    OPTIONS=--threads check_stall
    [ "$(grep -c '^    thread [0-4]    operation ' <<< "$stderr")" -ge 2 ]
    expect_in "$stderr" "is blocked in mcapi_msg_recv at observed.h:"
}

# ---- threads

@test "threads: a lock that is not given up: every thread is shown, and what it waits for" {
    mcapi locks
    mkdir run
    "$REFRAIN" record -q --threads -o trace "${launch[@]}" > recorded.text
    PROGRAM_BRANCH=keeps TMPDIR=$PWD/run \
        run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 2 trace
    expect_status 121
    expect_in "$stderr" "refrain: the replay stands still"
    # Nodes 2 and 3 may have done all before node 1 had the lock for the first time: then nobody
    # waits but node 1 itself.
    local waits='waits in mcapi_|one of the threads of rank |its threads' ended
    for node in 0 1; do
        grep -Eq "^  rank $node +event [0-9]+: ($waits)" <<< "$stderr"
    done
    for node in 2 3; do
        grep -Eq "^  rank $node +event [0-9]+: ($waits|finished)" <<< "$stderr"
    done
    ended=$(grep -Ec '^  rank [23] +event [0-9]+: finished' <<< "$stderr" || true)
    [ "$(grep -c '^    thread [0-4]    operation [0-9]* of [0-9]*: ' <<< "$stderr")" -eq $((5 - ended)) ]
    expect_in "$stderr" "is blocked in pthread_join at nodes.h:"
    # Who is not about to get the lock waits for a turn.
    local turn='waits until thread [1-4] has done [0-9]+ operations'
    grep -Eq "($turn|is blocked in (pthread_mutex_|mutex after pthread_cond_wait))" <<< "$stderr"
    expect_nothing_left
}

@test "threads: one node uses what another one has told all: order, sender and data" {
    mcapi locks
    for scheme in order sender data; do
        rm -rf trace
        "$REFRAIN" record -q --threads -s $scheme -o trace "${launch[@]}" > recorded.text
        run_apart timeout $PATIENCE "$REFRAIN" replay trace
        expect_status 0
        [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
    done
    # With the data, one node alone has the threads of its process, and their order.
    run_apart timeout $PATIENCE "$REFRAIN" replay --rank 2 trace
    expect_status 0
    [ "$(grep '^node 2: ' <<< "$output")" = "$(grep '^node 2: ' recorded.text)" ]
    expect_in "$stderr" "rank 2 alone"
}

@test "threads: several in one node are named where they are not kept apart" {
    mcapi node_threads
    for options in "" "--threads -s sender" "--threads -s data"; do
        rm -rf trace
        # shellcheck disable=SC2086 # words
        run_apart timeout $PATIENCE "$REFRAIN" record $options -o trace "${launch[@]}"
        expect_status 0
        expect_in "$stderr" "refrain: not recorded: calls of several threads of one node: "
        expect_in "$stderr" "hint: refrain record --threads --scheme order COMMAND..."
    done
    rm -rf trace
    run_apart timeout $PATIENCE "$REFRAIN" record --threads -o trace "${launch[@]}"
    expect_status 0
    [[ $stderr != *"not recorded"* ]]
}

@test "threads: what is refused" {
    mcapi recv
    run_apart "$REFRAIN" record --thread-order rolt -o trace "${launch[@]}"
    expect_status 120
    expect_in "$stderr" "--thread-order rolt: is not for programs that use MCAPI"
    [ ! -e trace ]
    "$REFRAIN" record -q --threads -o trace "${launch[@]}" > recorded.text
    run_apart timeout $PATIENCE "$REFRAIN" replay --race-detect trace
    expect_status 120
    expect_in "$stderr" "--race-detect: is not for programs that use MCAPI"
}

# A process that is killed while its threads send and receive: what they had seen they see again.
check_killed_threads() {
    mcapi node_threads --long "$@"
    mkdir run log again
    STAY=1 PROGRAM_LOG=$PWD/log \
        "$REFRAIN" record -q --threads -o trace "${launch[@]}" > recorded.text 2> recorder.text &
    local recorder=$!
    until [ "$(lines log/node-101.log)" -ge 300 ]; do
        sleep 0.01
    done
    kill -9 "$(pgrep -n -f "^${launch[0]}")"
    wait $recorder || [ $? -eq 137 ]
    PROGRAM_LOG=$PWD/again TMPDIR=$PWD/run \
        run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 5 trace
    [[ $stderr != *diverged* && $stderr != *"stands still"* ]]
    for name in node-101 node-102; do
        cmp "log/$name.log" <(head -n "$(lines "log/$name.log")" "again/$name.log")
    done
    expect_nothing_left
}

@test "threads: killed while several send and receive: threads" { check_killed_threads; }
@test "threads: killed while several send and receive: processes" { check_killed_threads --processes; }

# check_cut SCRIPT WORD...: as recorded when a debugger kills it where the script says. The program is
# found without it in the replay.
check_cut() {
    local script=$1
    shift
    mkdir -p run
    rm -rf trace log again
    mkdir log again
    cat > launcher << 'END'
#!/bin/sh
[ -e cut.gdb ] && exec gdb -batch -x cut.gdb --args "$@"
exec "$@"
END
    chmod +x launcher
    printf 'set breakpoint pending on\n%s\nkill\n' "$script" > cut.gdb
    PROGRAM_LOG=$PWD/log "$REFRAIN" record -q --mpi mcapi "$@" -o trace ./launcher "${launch[@]}" > gdb.text 2>&1
    grep -q '^\[Inferior 1 (process [0-9]*) killed\]' gdb.text
    rm cut.gdb
    PROGRAM_LOG=$PWD/again TMPDIR=$PWD/run \
        run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay --stall-timeout 5 trace
    expect_in "$stderr" "no difference"
    for name in log/*; do
        cmp "$name" <(head -n "$(lines "$name")" "again/${name#log/}")
    done
    expect_nothing_left
}

# Eleven values are about nodes and endpoints; some ten and more are about messages, in whatever order these come.
@test "killed between a message and its number" {
    mcapi recv_wait
    for after in "" finish; do
        check_cut "break rf_value
ignore 1 15
run
$after"
    done
}

@test "threads: killed when one had a number, and another one had sent the next" {
    mcapi node_threads --long
    check_cut 'break lines.c:note_sent
ignore 1 500
run
delete
python
sender = gdb.selected_thread()
def sends(thread):
    thread.switch()
    frame = gdb.newest_frame()
    while frame and frame.name() != "transmit":
        frame = frame.older()
    return frame
other = [thread for thread in gdb.selected_inferior().threads() if thread != sender and sends(thread)]
other[0].switch()
end
set scheduler-locking on
break lines.c:note_sent
continue
break rf_line_went
continue
finish' --threads
}

# ---- programs that end badly

# check_crash HOW STATUS ENDING [ARGUMENT...]: node 1 ends in this way.
check_crash() {
    local how=$1 expected=$2 ending=$3 result
    shift 3
    mcapi crash "$how" "$@"
    mkdir run
    logged recorded "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status "$expected"
    result=$(grep '^node 1: ' <<< "$output")
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "status $expected"
    run_apart "$REFRAIN" info --json trace
    python3 -c '
import json, sys
nodes = json.load(sys.stdin)["nodes"]
assert [node["rank"] for node in nodes] == [0, 1, 2, 3], nodes
assert sys.argv[1] in nodes[1]["ending"], nodes[1]' "$ending" <<< "$output"
    run_apart "$REFRAIN" check trace
    expect_status 0
    for _ in 1 2 3; do
        rm -rf replayed
        TMPDIR=$PWD/run logged replayed "$REFRAIN" replay -q trace
        expect_status "$expected"
        [ "$(grep '^node 1: ' <<< "$output")" = "$result" ]
        cmp recorded/node-1.log replayed/node-1.log
        expect_nothing_left
    done
}

@test "abort(): threads" { check_crash abort 134 SIGABRT; }
@test "abort(): processes" { check_crash abort 134 SIGABRT --processes; }
@test "a segmentation fault: threads" { check_crash segfault 139 SIGSEGV; }
@test "a segmentation fault: processes" { check_crash segfault 139 SIGSEGV --processes; }
@test "a failed assertion: threads" { check_crash assert 134 SIGABRT; }
@test "a failed assertion: processes" { check_crash assert 134 SIGABRT --processes; }
@test "exit(): threads" { check_crash exit 3 "exited with status 3"; }
@test "exit(): processes" { check_crash exit 3 "exited with status 3" --processes; }

# A node alone on its data: the others do not run, and it sees what it saw.
check_alone() {
    mcapi recv "$@"
    logged recorded "$REFRAIN" record -q -s data -o trace "${launch[@]}"
    expect_status 0
    for node in 0 1; do
        rm -rf replayed
        logged replayed "$REFRAIN" replay --rank $node trace
        expect_status 0
        expect_in "$stderr" "rank $node alone"
        cmp recorded/node-$node.log replayed/node-$node.log
        if [ "$1" = --processes ]; then
            [ "$(ls replayed)" = node-$node.log ]
        fi
    done
    expect_nothing_left
}

@test "one node alone: threads" { check_alone; }
@test "one node alone: processes" { check_alone --processes; }

@test "one node alone needs its data" {
    mcapi recv
    run_apart "$REFRAIN" record -q -o trace "${launch[@]}"
    run_apart "$REFRAIN" replay --rank 0 trace
    expect_status 122
    expect_in "$stderr" "was not kept"
    run_apart "$REFRAIN" debug --rank 0 --batch bt trace
    expect_status 120
    run_apart "$REFRAIN" extract --rank 0 trace
    expect_status 120
}

@test "a script that starts it: the hint names the option" {
    mcapi recv
    printf '#!/bin/sh\nexec %s\n' "${launch[0]}" > start
    chmod +x start
    run_apart "$REFRAIN" record -o trace ./start
    expect_status 123
    expect_in "$stderr" "but ${launch[0]} uses MCAPI"
    expect_in "$stderr" "hint: refrain record --mpi mcapi -- ./start"
    "$REFRAIN" record -q --mpi mcapi -o trace ./start
    run_apart "$REFRAIN" replay trace
    expect_status 0
}

@test "scheme sender is for MCAPI" {
    run_apart "$REFRAIN" record -m openmpi -s sender true
    expect_status 120
    expect_in "$stderr" "is for programs that use MCAPI"
}

# An implementation that has the functions of the specification and nothing else.
foreign_library() {
    mkdir foreign
    echo '{ global: mcapi_*; local: *; };' > foreign/map
    cc -shared -o foreign/libmcapi.so.2 -Wl,-soname,libmcapi.so.2 -Wl,--version-script=foreign/map \
        -Wl,--whole-archive "$(dirname "$REFRAIN")/lib/libmcapi.a" -Wl,--no-whole-archive -pthread
    export LD_LIBRARY_PATH=$PWD/foreign
}

@test "another implementation: messages are told apart by their contents" {
    foreign_library
    for program in recv wait_any test truncate; do
        for mode in "" --processes; do
            rm -rf trace recorded replayed
            mcapi $program ${mode:+"$mode"}
            logged recorded "$REFRAIN" record -q -o trace "${launch[@]}"
            expect_status 0
            logged replayed "$REFRAIN" replay -q trace
            expect_status 0
            diff -r recorded replayed
        done
    done
    run_apart "$REFRAIN" info trace
    expect_in "$output" "told apart by their contents"
}

# Nor has it all of them: only those that the program needs.
@test "another implementation: of another name, with few functions; contents that vary" {
    cat > map << EOF
{ global: mcapi_initialize; mcapi_finalize; mcapi_endpoint_create; mcapi_endpoint_get;
  mcapi_msg_send; mcapi_msg_recv; mcapi_display_status; local: *; };
EOF
    cc -shared -o libother.so -Wl,-soname,libother.so -Wl,--version-script=map \
        -Wl,--whole-archive "$(dirname "$REFRAIN")/lib/libmcapi.a" -Wl,--no-whole-archive -pthread
    cat > words.c << EOF
#include <nodes.h>
static void node_main(int node) {
    mcapi_status_t status;
    start(node);
    mcapi_endpoint_t mine = own_endpoint(PORT);
    if (node)
        send_word(mine, endpoint_of(0, PORT), getenv("VARIES") ? (int)getpid() : node);
    else
        printf("%d %d.", receive_word(mine), receive_word(mine));
    mcapi_finalize(&status);
}
int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, 3);
}
EOF
    cc -O1 -o words words.c -I "$SOURCES/examples/mcapi" -I "$SOURCES/runtime/mcapi/include" \
        -L. -lother -Wl,-rpath,"$PWD" -pthread
    run_apart "$REFRAIN" record -o trace ./words
    expect_status 123
    expect_in "$stderr" "./words calls MCAPI, but not in Refrain's library"
    expect_in "$stderr" "refrain record -m mcapi"
    "$REFRAIN" record -q -m mcapi -o trace ./words > recorded.text
    run_apart timeout $PATIENCE "$REFRAIN" replay trace
    expect_status 0
    [ "$output" = "$(cat recorded.text)" ]
    VARIES=1 run_apart timeout $PATIENCE "$REFRAIN" replay --stall-timeout 2 trace
    expect_status 121
    expect_in "$stderr" "waits in mcapi_msg_recv at "
    expect_in "$stderr" "likely    messages are told apart by their contents here"
}

@test "another implementation: scheme sender says that it cannot" {
    foreign_library
    mcapi recv
    run_apart "$REFRAIN" record -s sender -o trace "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "does not tell the order of deliveries"
    run_apart timeout 60 "$REFRAIN" replay -q trace
    expect_status 0
}

@test "doctor finds the adapter for MCAPI" {
    mcapi recv
    run_apart "$REFRAIN" doctor -- "${launch[@]}"
    expect_status 0
    expect_in "$output" "uses MCAPI"
    expect_in "$output" "the preload reaches programs"
}

# The nodes in the order of all deliveries: as the trace has it, and as the program's clock saw it.
recorded_order() {
    "$REFRAIN" dump --all --json trace | python3 -c '
import json, sys
stamps, order = {}, []
for event in map(json.loads, sys.stdin):
    if event["kind"] == "stamp":
        stamps[event["rank"]] = stamps.get(event["rank"], 0) + event["stamp"]
        order.append((stamps[event["rank"]], event["rank"]))
print(*(rank for _, rank in sorted(order)))'
}

seen_order() {
    sed -n 's/^at \([0-9.]*\): node \([0-9]*\) received .*/\1 \2/p' <<< "$stderr" | sort -n | cut -d ' ' -f 2 | xargs
}

# Figure 28: scheme sender repeats the order between nodes, scheme order only that of each node.
check_total_order() {
    local expected nodes orders="" recordings=0
    while [ "$(wc -w <<< "$orders")" -lt 2 ] && [ $recordings -lt 40 ]; do
        rm -rf trace
        run_apart timeout 60 "$REFRAIN" record -q -s sender -o trace "$EXAMPLES/two_orders" "$@"
        expect_status 0
        recordings=$((recordings + 1))
        nodes=$(grep '^node' <<< "$output" | sort)
        expected=$(recorded_order)
        [ "$(wc -w <<< "$expected")" = 4 ]
        orders=$(printf '%s\n' $orders "${expected// /}" | sort -u | xargs)
        for _ in 1 2 3; do
            run_apart timeout 60 "$REFRAIN" replay -q trace
            expect_status 0
            [ "$(grep '^node' <<< "$output" | sort)" = "$nodes" ]
            [ "$(seen_order)" = "$expected" ]
        done
    done
    # Recordings do differ, or the replays would have shown nothing.
    [ "$(wc -w <<< "$orders")" -ge 2 ]
}

@test "scheme sender: one order of all deliveries: threads" { check_total_order; }
@test "scheme sender: one order of all deliveries: processes" { check_total_order --processes; }

# peak_of VERB...: sets `peak` to the most memory that the program had, in KiB.
peak_of() {
    run_apart timeout $PATIENCE "$REFRAIN" "$@"
    expect_status 0
    expect_in "$output" "a near one: known"
    expect_in "$output" "a far one: unknown"
    peak=$(sed -n 's/^peak //p' <<< "$stderr")
}

@test "receives that are only tested leave nothing behind" {
    mcapi tested
    for scheme in order sender; do
        peak_of record -s $scheme -o "few-$scheme" "${launch[@]}" 10000
        recorded=$peak
        peak_of record -s $scheme -o "many-$scheme" "${launch[@]}" 200000
        [ $((peak - recorded)) -lt 2000 ]
    done
    peak_of replay few-order
    replayed=$peak
    peak_of replay many-order
    [ $((peak - replayed)) -lt 2000 ]
}
