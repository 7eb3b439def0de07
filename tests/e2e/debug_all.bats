#!/usr/bin/env bats
# Every rank under a gdb of its own: in panes of a real tmux, and for scripts.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    command -v tmux > /dev/null || missing "tmux is not installed"
    # Servers of the test's own, which read nobody's settings.
    export TMUX_TMPDIR=$PWD HOME=$PWD TMPDIR=$PWD/run TERM=xterm
    mkdir run
    unset TMUX TMUX_PANE DISPLAY
}

teardown() {
    desk kill-server 2> /dev/null || :
    tmux kill-server 2> /dev/null || :
}

# The server that stands for the user's terminal.
desk() { tmux -L desk -f /dev/null "$@"; }

# Until it is gone: one that is about to end still takes connections.
end_desk() {
    local pid
    pid=$(desk display-message -p '#{pid}')
    desk kill-server
    eventually eval "! kill -0 $pid 2> /dev/null"
}

# Everyone gets two messages from everyone, in the order in which they come; rank 0 then one more from each.
compile_all() {
    compile "$1" all << 'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int get(int tag) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}

int main(int argc, char **argv) {
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        return 7;
    for (int round = 0; round < 2; round++) {
        for (int other = 0; other < size; other++)
            if (other != rank)
                MPI_Send(&rank, 1, MPI_INT, other, round, MPI_COMM_WORLD);
        for (int got = 1; got < size; got++)
            sum = 10 * sum + get(round);
    }
    if (rank != 0)
        MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    for (int got = 1; rank == 0 && got < size; got++)
        sum = 10 * sum + get(2); /* the line of rank 0 */
    printf("rank %d has %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
END
    launch[2]=${2:-3}
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
}

# Polls until the command succeeds.
eventually() {
    local deadline=$((SECONDS + 60))
    until "$@"; do
        if [ "$SECONDS" -gt "$deadline" ]; then
            echo "never came true: $*"
            tail -n +1 said.text code.text 2> /dev/null
            "$server" list-panes -a -F '#{pane_id} #{pane_title}'
            return 1
        fi
        sleep 0.1
    done
}

# The server in which the ranks are: "desk" when refrain ran inside it, "tmux" for the user's ordinary one.
server=desk

# begin COLUMNS LINES ARGUMENT...: refrain debug --all in the terminal that is the desk.
begin() {
    local columns=$1 lines=$2
    shift 2
    rm -f code.text
    {
        echo "cd '$PWD'; export MARK=here"
        [ "$server" = desk ] || echo "unset TMUX TMUX_PANE"
        echo "'$REFRAIN' debug --all $* 2> said.text &"
        echo 'echo $! > refrain.pid; fg > /dev/null; echo $? > code.text; cat'
    } > script
    # A server that runs already has an environment of its own.
    MARK=elsewhere desk new-session -d -x "$columns" -y "$lines" "bash -m script"
}

pane_of() {
    "$server" list-panes -a -F '#{pane_id} #{pane_title}' 2> /dev/null | sed -n "s/ rank $1\$//p"
}
screen_of() {
    "$server" capture-pane -p -J -S - -t "$(pane_of "$1")" 2> /dev/null
}
shows() {
    [ -n "$(pane_of "$1")" ] && [[ $(screen_of "$1") == *"$2"* ]]
}
at_prompt() {
    local text
    text=$(screen_of "$1")
    [[ ${text%"${text##*[![:space:]]}"} == *"(gdb)" ]]
}
type_in() {
    "$server" send-keys -t "$(pane_of "$1")" "$2" Enter
}
leave() {
    type_in "$1" "set confirm off"
    type_in "$1" quit
    eventually is_gone "$1"
}
is_gone() { [ -z "$(pane_of "$1")" ]; }
ended() { [ -s code.text ]; }
goes_on() { [ ! -s code.text ]; }

expect_nothing_left() {
    eventually eval '[ -z "$(ls run)" ]'
    [ -z "$(pgrep -f "^$PWD/all")" ]
}

@test "debug --all: what cannot be: 120; nothing to show it in: 123; nothing is run" {
    compile_all mpich
    run_apart "$REFRAIN" debug --all --rank 1
    expect_status 120
    expect_in "$stderr" "--all, --rank: one rank can be looked at, or every one"
    expect_in "$stderr" "hint: refrain debug -h"
    run_apart "$REFRAIN" debug --all --event 1 --at all.c:3
    expect_status 120
    run_apart "$REFRAIN" debug --all --event 6 --batch "print sum"
    expect_status 120
    expect_in "$stderr" "--event 6: no rank has more than 6 events"
    run_apart "$REFRAIN" debug --all < /dev/null
    expect_status 123
    expect_in "$stderr" "there is no terminal"
    expect_in "$stderr" "hint: refrain debug --all --batch backtrace"
    mkdir bin
    ln -s "$(command -v gdb)" bin/gdb
    run_apart env PATH="$PWD/bin" "$REFRAIN" debug --all
    expect_status 123
    expect_in "$stderr" "tmux: not found in PATH"
    expect_in "$stderr" "hint: apt-get install tmux"
    [ -z "$output" ]
    [ -z "$(ls refrain.data/latest | grep start)" ]
}

check_batch() {
    compile_all "$1"
    run_apart "$REFRAIN" debug --all --event 3 --batch 'print 10 * rank; refrain-where'
    expect_status 0
    expect_in "$stderr" "refrain.data/all-1: ranks 0-2 were not extracted yet: replaying the job once"
    for rank in 0 1 2; do
        expect_in "$stderr" "[$rank] refrain: rank $rank stopped, after 4 events"
        [ "$(grep -c "^\[$rank\] \$[0-9]* = ${rank/#[12]/${rank}0}\$" <<< "$output")" -eq 1 ]
    done
    # Each line says whose it is, and ranks come one after another.
    [ "$(grep -c '^\[[0-2]\] ' <<< "$output")" -eq "$(wc -l <<< "$output")" ]
    [ "$(cut -c 1-3 <<< "$output" | uniq | tr -d '\n')" = "[0][1][2]" ]
    expect_in "$output" "[1] rank 1: 4 of 4 events played"
    expect_in "$output" "[0] rank 0: 4 of 6 events played"
    # Nothing is extracted again. Rank 0 alone has this event; the others say so, and fail.
    run_apart "$REFRAIN" debug --all --event 5 --batch 'print sum'
    expect_status 120
    [[ ! $stderr =~ "extracted yet" ]]
    expect_in "$stderr" "[1] refrain: --event 5: rank 1 has the events 0-3"
    expect_in "$stderr" "[2] refrain: --event 5: rank 2 has the events 0-3"
    [[ $output =~ ^"[0] "[^$'\n']*$ ]]
    # One that differs does not keep the others from being looked at.
    sed -i 's,\("arguments": \[[^]]*\),\1\, "early",' refrain.data/latest/rank-1.start
    run_apart "$REFRAIN" debug --all --batch 'print rank'
    expect_status 121
    expect_in "$stderr" "[1] refrain: rank 1 differs from its recording here"
    expect_in "$stderr" "[1] refrain: the replay diverged: rank 1"
    for rank in 0 2; do
        expect_in "$stderr" "[$rank] refrain: rank $rank ended with status 0"
    done
    expect_nothing_left
}

@test "Open MPI: debug --all --batch" { check_batch openmpi; }
@test "MPICH: debug --all --batch" { check_batch mpich; }

@test "debug --all --batch: only rank 0 has the input; a signal ends all" {
    compile_all mpich
    "$REFRAIN" extract -q --rank 0-2 > extracted.text
    run_apart "$REFRAIN" debug --all --batch 'shell cat' <<< "from the input"
    expect_status 0
    expect_in "$output" "[0] from the input"
    [[ ! $output =~ "[1] from" ]]
    "$REFRAIN" debug --all --at all.c:15 --batch 'shell touch stopped.$$; call (int)pause()' > said.text 2>&1 &
    eventually eval '[ -n "$(ls | grep "^stopped")" ]'
    kill $!
    status=0
    wait $! || status=$?
    expect_status 143
    expect_nothing_left
}

check_inside() {
    compile_all "$1"
    begin 130 40 --event 3
    for rank in 0 1 2; do
        eventually shows "$rank" "rank $rank stopped, after 4 events"
        eventually at_prompt "$rank"
    done
    grep -q "ranks 0-2 were not extracted yet" said.text
    # One window besides the one in which the command was typed, in front, with the ranks in their order.
    [ "$(desk list-windows -F '#{window_active} #{window_name}' | tail -n 1)" = "1 ranks 0-2" ]
    [ "$(desk list-panes -F '#{pane_title}' | tr '\n' ' ')" = "rank 0 rank 1 rank 2 " ]
    type_in 1 "print 1000 + rank"
    eventually shows 1 "= 1001"
    # Each goes its own way, and has the surroundings in which the command was typed.
    type_in 1 refrain-back
    eventually shows 1 "rank 1 stopped, after 3 events"
    type_in 2 refrain-where
    eventually shows 2 "rank 2: 4 of 4 events played"
    type_in 2 'shell echo "mark $MARK"'
    eventually shows 2 "mark here"
    leave 1
    leave 0
    goes_on
    leave 2
    eventually ended
    [ "$(cat code.text)" -eq 0 ]
    expect_nothing_left
}

@test "Open MPI: debug --all inside tmux" { check_inside openmpi; }
@test "MPICH: debug --all inside tmux" { check_inside mpich; }

check_outside() {
    compile_all "$1"
    server=tmux
    begin 130 40 --event 3
    for rank in 0 1 2; do
        eventually shows "$rank" "rank $rank stopped, after 4 events"
    done
    eventually eval '[[ $(desk capture-pane -p) =~ "rank 2" ]]'
    for rank in 2 0 1; do
        eventually at_prompt "$rank"
        leave "$rank"
    done
    eventually ended
    [ "$(cat code.text)" -eq 0 ]
    [ -z "$(tmux list-sessions 2> /dev/null)" ]
    expect_nothing_left
}

@test "Open MPI: debug --all has a session of tmux" { check_outside openmpi; }
@test "MPICH: debug --all has a session of tmux" { check_outside mpich; }

@test "debug --all: a session can be left, and ended" {
    compile_all mpich
    server=tmux
    begin 130 40 --event 3
    eventually shows 1 "rank 1 stopped, after 4 events"
    eventually eval '[ -n "$(tmux list-clients)" ]'
    tmux detach-client -s "$(tmux list-sessions -F '#{session_name}')"
    eventually ended
    [ "$(cat code.text)" -eq 0 ]
    grep -q "the ranks stay in tmux's session refrain-" said.text
    [ "$(tail -n 1 said.text)" = "hint: tmux attach -t $(tmux list-sessions -F '#{session_name}')" ]
    eventually at_prompt 1
    type_in 1 "print 1000 + rank"
    eventually shows 1 "= 1001"
    tmux kill-session
    eventually eval '! pgrep -f "^$PWD/all"'
    expect_nothing_left
    # The same while it is looked at.
    end_desk
    begin 130 40 --event 3
    eventually shows 1 "rank 1 stopped, after 4 events"
    tmux kill-session
    eventually ended
    [ "$(cat code.text)" -eq 0 ]
    expect_nothing_left
}

@test "debug --all: ended from outside, it takes its panes along" {
    compile_all mpich
    for server in desk tmux; do
        begin 130 40
        for rank in 0 1 2; do
            eventually shows "$rank" "rank $rank ended with status 0"
        done
        kill "$(cat refrain.pid)"
        eventually ended
        [ "$(cat code.text)" -eq 143 ]
        for rank in 0 1 2; do
            is_gone "$rank"
        done
        expect_nothing_left
        end_desk
    done
}

@test "debug --all: a pane says what went wrong, and stays" {
    compile_all mpich
    begin 130 40 --event 5
    eventually shows 0 "rank 0 stopped, after 6 events"
    for rank in 1 2; do
        eventually shows "$rank" "--event 5: rank $rank has the events 0-3"
        eventually shows "$rank" "rank $rank: ended with status 120; Enter closes this"
    done
    eventually at_prompt 0
    leave 0
    for rank in 1 2; do
        goes_on
        type_in "$rank" ""
        eventually is_gone "$rank"
    done
    eventually ended
    [ "$(cat code.text)" -eq 120 ]
}

@test "debug --all: many ranks have several windows" {
    compile_all mpich 7
    begin 80 24
    for rank in 0 3 4 6; do
        eventually shows "$rank" "rank $rank ended with status 0"
    done
    [ "$(desk list-windows -F '#{window_name}/#{window_panes}' | tail -n +2 | tr '\n' ' ')" = \
        "ranks 0-3/4 ranks 4-6/3 " ]
    kill "$(cat refrain.pid)"
    eventually ended
}

@test "debug --all: windows of xterm where there is no tmux" {
    compile_all mpich
    mkdir bin
    ln -s "$(command -v gdb)" bin/gdb
    # Nobody types into these.
    cat > bin/xterm << 'END'
#!/bin/sh
title=$2
shift 3
"$@" < /dev/null > "$title.text" 2>&1
END
    chmod +x bin/xterm
    PATH=$PWD/bin:/usr/bin:/bin "$REFRAIN" extract -q --rank 0-2 > extracted.text
    DISPLAY=:99 PATH=$PWD/bin:/bin run_apart "$REFRAIN" debug --all --event 3
    expect_status 0
    for rank in 0 1 2; do
        expect_in "$(cat "rank $rank.text")" "rank $rank stopped, after 4 events"
    done
    DISPLAY=:99 PATH=$PWD/bin:/bin run_apart "$REFRAIN" debug --all --event 5
    expect_status 120
    printf '#!/bin/sh\nexit 1\n' > bin/xterm
    DISPLAY=:99 PATH=$PWD/bin:/bin run_apart "$REFRAIN" debug --all
    expect_status 123
    expect_in "$stderr" "rank 0: its window did not open"
    expect_nothing_left
}
