#!/usr/bin/env bats
# Programs that nothing can be preloaded into: their MCAPI calls are renamed, in objects and archives or
# by the compiler, and the adapter is linked into them.

load common

BUILD=$(dirname "$REFRAIN")
INCLUDES=(-I"$SOURCES/runtime/mcapi/include" -I"$SOURCES/tests/programs" -I"$SOURCES/examples/mcapi")
MCAPI=(-L"$BUILD/lib" -lmcapi)
PROGRAM=$SOURCES/tests/programs/mcapi

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    [ -e "$BUILD/lib/librefrain-mcapi.a" ] || missing "no adapter that can be linked"
    [ -e "$BUILD/lib/libmcapi.a" ] || missing "no MCAPI library"
    export LD_LIBRARY_PATH=$BUILD/lib MCAPI_JOB=instrument-$BATS_TEST_NUMBER-$$
}

# result FILE COMMAND...: what the nodes saw goes to FILE, sorted.
result() {
    local file=$1
    shift
    timeout 60 "$@" > "$file.all" 2> "$file.errors" || {
        echo "$* ended with $?"
        cat "$file.all" "$file.errors"
        return 1
    }
    grep -E '^node [0-9]+: ' "$file.all" | sort > "$file"
    [ -s "$file" ]
}

# varies COMMAND...: two plain runs differ.
varies() {
    local i
    result plain "$@"
    for ((i = 0; i < 30; i++)); do
        result again "$@"
        cmp -s plain again || return 0
    done
    echo "$*: does not vary"
    return 1
}

# repeats SCHEME COMMAND...: every replay of a recording is the same.
repeats() {
    local scheme=$1 i
    shift
    rm -rf trace
    result recorded "$REFRAIN" record -q -s "$scheme" -o trace "$@"
    [ ! -s recorded.errors ] || { cat recorded.errors; return 1; }
    for i in 1 2 3; do
        result replayed "$REFRAIN" replay -q trace
        cmp recorded replayed
    done
}

is_static() {
    if readelf -l "$1" | grep -q INTERP; then return 1; fi
}

# Varies plain; recorded and replayed in every way.
works() {
    local scheme how
    for how in '' --processes; do
        # shellcheck disable=SC2086 # no word if it is empty
        varies "$1" $how
        for scheme in order data sender; do
            # shellcheck disable=SC2086
            repeats $scheme "$1" $how
        done
    done
}

@test "compiler: source to static program in one step" {
    run_apart "$REFRAIN" instrument -- cc -g -O2 "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static "${MCAPI[@]}"
    expect_status 0
    [ -z "$output$stderr" ]
    is_static app
    works ./app
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "MCAPI"
    run_apart "$REFRAIN" dump trace
    expect_status 0
    expect_in "$output" "mcapi_msg_recv"
    expect_in "$output" "observed.h:"
}

@test "compiler: objects first, then linked; requests and timeouts" {
    "$REFRAIN" instrument -- cc -O2 "${INCLUDES[@]}" -c "$PROGRAM/wait_any.c"
    [ -e wait_any.o ]
    "$REFRAIN" instrument -- cc wait_any.o -o app "$BUILD/lib/libmcapi.a" -static
    is_static app
    works ./app
}

@test "objects: renamed in place, linked by hand" {
    gcc -g -O2 "${INCLUDES[@]}" -c "$PROGRAM/recv.c" -o app.o
    run_apart "$REFRAIN" instrument app.o
    expect_status 0
    [ -z "$output" ]
    [[ $stderr =~ ^refrain:\ instrumented:\ app.o:\ [0-9]+\ calls\ of\ [0-9]+\ functions$ ]]
    if nm -u app.o | grep -qw mcapi_msg_recv; then return 1; fi
    nm -u app.o | grep -qw refrain_mcapi_msg_recv
    # It only says something, and is the same in every run.
    nm -u app.o | grep -qw mcapi_display_status
    eval "libs=($("$REFRAIN" instrument --libs))" # quoted as for a shell
    gcc -static app.o "${libs[@]}" "${MCAPI[@]}" -o app
    works ./app
    run_apart "$REFRAIN" instrument app.o
    expect_status 0
    [ "$stderr" = "refrain: app.o: is instrumented already" ]
}

@test "archives: renamed into another file; the calls are only there" {
    printf 'int app_main(int, char **);\nint main(int argc, char **argv) { return app_main(argc, argv); }\n' > main.c
    gcc -c main.c
    gcc -O2 "${INCLUDES[@]}" -Dmain=app_main -c "$PROGRAM/test.c"
    printf 'int app_helper(void) { return 1; }\n' > helper.c
    gcc -c helper.c
    ar rcs libapp.a helper.o test.o
    cp libapp.a before.a
    run_apart "$REFRAIN" instrument -o libnew.a libapp.a
    expect_status 0
    expect_in "$stderr" "refrain: instrumented: libnew.a: "
    cmp libapp.a before.a
    ar t libnew.a | grep -qx test.o
    if nm -u libnew.a | grep -qw mcapi_test; then return 1; fi
    "$REFRAIN" instrument -- gcc main.o libnew.a -o app -static "${MCAPI[@]}"
    works ./app
}

@test "a C++ program, by the compiler and by its object" {
    "$REFRAIN" instrument -- c++ -O2 "${INCLUDES[@]}" "$PROGRAM/cpp_recv.cpp" -o app -static "${MCAPI[@]}"
    varies ./app
    repeats order ./app
    g++ -O2 "${INCLUDES[@]}" -c "$PROGRAM/cpp_recv.cpp"
    "$REFRAIN" instrument -q cpp_recv.o
    "$REFRAIN" instrument -- g++ cpp_recv.o -o other -static "${MCAPI[@]}"
    varies ./other
    repeats sender ./other
}

# A library that calls itself: sending is made of two other functions. Sets `library`.
make_library() {
    cp "$BUILD/lib/libmcapi.a" libmcapi.a
    objcopy --redefine-sym mcapi_msg_send=other_msg_send libmcapi.a
    cat > msg_send.c << 'END'
#include <mcapi.h>
void mcapi_msg_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void *buffer, size_t size,
                    mcapi_priority_t priority, mcapi_status_t *status) {
    mcapi_request_t request;
    mcapi_msg_send_i(from, to, buffer, size, priority, &request, status);
    if (*status == MCAPI_SUCCESS || *status == MCAPI_PENDING)
        mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, status);
}
END
}

@test "calls that the library makes to itself stay untouched" {
    make_library
    # Also when the library is compiled with the program.
    run_apart "$REFRAIN" instrument -- cc "${INCLUDES[@]}" -c msg_send.c
    expect_status 0
    [ "$stderr" = "refrain: msg_send.o: has functions of MCAPI itself: left as it is" ]
    if nm msg_send.o | grep refrain_; then return 1; fi
    nm msg_send.o | grep -q ' T mcapi_msg_send$'
    nm msg_send.o | grep -q ' U mcapi_wait$'
    ar rs libmcapi.a msg_send.o 2> /dev/null
    "$REFRAIN" instrument -- cc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static -L. -lmcapi
    nm libmcapi.a > names
    if grep refrain_ names; then return 1; fi
    # In the program as well.
    objdump -dr --no-show-raw-insn app > code
    sed -n '/<mcapi_msg_send>:/,/^$/p' code > body
    grep -q '<mcapi_wait>' body
    if grep refrain_ body; then return 1; fi
    works ./app
    "$REFRAIN" dump --all trace > events
    if grep -w mcapi_wait events; then return 1; fi
    run_apart "$REFRAIN" instrument libmcapi.a
    expect_status 120
    expect_in "$stderr" "refrain: libmcapi.a: has mcapi_"
    expect_in "$stderr" "it is the MCAPI library"
}

@test "a stripped static program is known as instrumented" {
    "$REFRAIN" instrument -- cc -O2 "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static -s "${MCAPI[@]}"
    if nm app 2> /dev/null | grep refrain_; then return 1; fi
    varies ./app
    repeats order ./app
    "$REFRAIN" instrument -- cc -O2 "${INCLUDES[@]}" "$PROGRAM/recv.c" -o pie -static-pie -s "${MCAPI[@]}"
    repeats order ./pie
}

@test "a static program that is not instrumented: 123, and what helps" {
    gcc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static "${MCAPI[@]}"
    run_apart "$REFRAIN" record ./app
    expect_status 123
    [ "$stderr" = "refrain: ./app is statically linked: nothing can be loaded into it
hint: refrain instrument --help" ]
    gcc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o half "$BUILD/lib/libmcapi.a"
    run_apart "$REFRAIN" record ./half
    expect_status 123
    [ "$stderr" = "refrain: ./half contains the MCAPI library (static linking): its calls cannot be intercepted
hint: refrain instrument --help" ]
}

@test "an instrumented dynamic program is intercepted once, with the preload or without" {
    "$REFRAIN" instrument -- cc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app "${MCAPI[@]}"
    if is_static app; then return 1; fi
    works ./app
    # The preload is there: a shell is what is started.
    printf '#!/bin/sh\nexec ./app\n' > script
    chmod +x script
    result recorded "$REFRAIN" record -q -m mcapi -o by-script ./script
    [ ! -s recorded.errors ]
    result replayed "$REFRAIN" replay -q by-script
    cmp recorded replayed
    # An embedded library, dynamic otherwise.
    "$REFRAIN" instrument -- cc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o half "$BUILD/lib/libmcapi.a"
    repeats sender ./half
    # Nothing stands before its functions for threads.
    run_apart "$REFRAIN" record --threads -o threads ./app
    expect_status 120
    expect_in "$stderr" "--threads: is not for programs made by refrain instrument"
    [ ! -e threads ]
}

@test "one node alone, on contents that are not compressed" {
    "$REFRAIN" instrument -- cc -g "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static "${MCAPI[@]}"
    result recorded "$REFRAIN" record -q -s data -o trace ./app --processes
    grep '^node 0: ' recorded > expected
    run_apart timeout 60 "$REFRAIN" replay -q --rank 0 trace
    expect_status 0
    [ "$(grep '^node 0: ' <<< "$output" | sort)" = "$(cat expected)" ]
}

@test "a program of MCAPI 1" {
    cat > one.c << 'END'
#include <mcapi.h>
#include <stdio.h>
int main(void) {
    mcapi_version_t version;
    mcapi_status_t status;
    int word = 7;
    size_t size;
    mcapi_initialize(1, &version, &status);
    mcapi_endpoint_t here = mcapi_create_endpoint(1, &status);
    mcapi_msg_send(here, here, &word, sizeof word, 1, &status);
    mcapi_msg_recv(here, &word, sizeof word, &size, &status);
    printf("node 1: %d\n", word);
    mcapi_finalize(&status);
    return status != MCAPI_SUCCESS;
}
END
    "$REFRAIN" instrument -- cc -Wall -Wextra -Werror -I"$SOURCES/runtime/mcapi/include/mcapi1" "${INCLUDES[@]}" \
        one.c -o app -static "${MCAPI[@]}"
    repeats order ./app
    "$REFRAIN" dump trace | grep -q mcapi_msg_recv
}

@test "compiler: what is not MCAPI's stays what it is" {
    printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' > hello.c
    "$REFRAIN" instrument -- cc hello.c
    [ "$(./a.out)" = hello ]
    if nm a.out | grep refrain_; then return 1; fi
    "$REFRAIN" instrument -- cc -x c - -o from-input < hello.c
    [ "$(./from-input)" = hello ]
    run_apart "$REFRAIN" instrument -- cc -E hello.c
    expect_status 0
    expect_in "$output" "redefine_extname"
    run_apart "$REFRAIN" instrument -- cc --version
    expect_status 0
    [ "$output" = "$(cc --version)" ]
    run_apart "$REFRAIN" instrument -- cc -o libhello.so -shared -fPIC hello.c
    expect_status 0
    printf 'int main(void) { return }\n' > bad.c
    run_apart "$REFRAIN" instrument -- cc bad.c -o bad
    expect_status 1
    expect_in "$stderr" "bad.c:1"
    [ ! -e bad ]
}

@test "compiler: the library wherever the linker needs it" {
    gcc "${INCLUDES[@]}" -O2 -c "$PROGRAM/recv.c"
    "$REFRAIN" instrument -q recv.o
    mkdir apart
    cp "$BUILD/lib/libmcapi.a" apart/libother.a
    "$REFRAIN" instrument -- cc -o one -static recv.o -Lapart -l other
    "$REFRAIN" instrument -- cc recv.o -o two -static -Wl,--whole-archive apart/libother.a -Wl,--no-whole-archive
    "$REFRAIN" instrument -- cc -static -Wl,--start-group apart/libother.a recv.o -Wl,--end-group -othree
    "$REFRAIN" instrument -- cc -static -Wl,--gc-sections -flto -O2 "${INCLUDES[@]}" "$PROGRAM/recv.c" -o four \
        "${MCAPI[@]}"
    ar rcs librecv.a recv.o
    printf 'extern int app;\n' > nothing.c
    gcc -c nothing.c
    "$REFRAIN" instrument -- cc nothing.o librecv.a apart/libother.a -o five -static
    for program in one two three four five; do
        repeats order ./$program
    done
    run_apart "$REFRAIN" instrument -v -- cc recv.o apart/libother.a -o six
    expect_status 0
    expect_in "$stderr" "refrain: running: cc recv.o -Xlinker "
}

@test "compiler: library and program in one command, and other mistakes" {
    make_library
    cat > all.c << 'END'
void mcapi_initialize(void);
void mcapi_initialize(void) {}
int main(void) { mcapi_initialize(); return 0; }
END
    run_apart "$REFRAIN" instrument -- cc all.c -o all
    expect_status 120
    expect_in "$stderr" "refrain: all: the MCAPI library is among its sources"
    [ ! -e all ]
    run_apart "$REFRAIN" instrument -- no-such-compiler -c all.c
    expect_status 123
    expect_in "$stderr" "refrain: cannot run no-such-compiler"
    run_apart "$REFRAIN" instrument --
    expect_status 120
    [ "$stderr" = "refrain: instrument: the command after -- is missing
hint: refrain instrument -h" ]
}

@test "files that cannot be instrumented, and nothing is changed" {
    gcc "${INCLUDES[@]}" -c "$PROGRAM/recv.c" -o app.o
    cp app.o before.o
    run_apart "$REFRAIN" instrument
    expect_status 120
    expect_in "$stderr" "refrain: instrument: the files are missing"
    run_apart "$REFRAIN" instrument app.o no-such.o
    expect_status 120
    [ "$stderr" = "refrain: no-such.o: No such file or directory" ]
    cmp app.o before.o
    echo text > text.o
    run_apart "$REFRAIN" instrument app.o text.o
    expect_status 120
    [ "$stderr" = "refrain: text.o: is no object file and no archive" ]
    run_apart "$REFRAIN" instrument .
    expect_status 120
    : > empty.o
    run_apart "$REFRAIN" instrument empty.o
    expect_status 120
    head -c 2000 app.o > cut.o
    run_apart "$REFRAIN" instrument cut.o
    [ "$status" -ge 120 ] && [ "$status" -lt 125 ] || [ "$status" -eq 0 ]
    run_apart "$REFRAIN" instrument /bin/sh
    expect_status 120
    expect_in "$stderr" "refrain: /bin/sh: is linked already"
    ar rcsT thin.a app.o
    run_apart "$REFRAIN" instrument thin.a
    expect_status 120
    expect_in "$stderr" "refrain: thin.a: is a thin archive"
    gcc "${INCLUDES[@]}" -flto -c "$PROGRAM/recv.c" -o lto.o
    run_apart "$REFRAIN" instrument lto.o
    expect_status 120
    expect_in "$stderr" "refrain: lto.o: was compiled for link-time optimisation"
    run_apart "$REFRAIN" instrument app.o -o other.o
    expect_status 120
    expect_in "$stderr" "refrain: -o: options come before other words"
    run_apart "$REFRAIN" instrument -o other.o app.o before.o
    expect_status 120
    expect_in "$stderr" "several files need a directory"
    run_apart "$REFRAIN" instrument -o no/such/directory.o app.o
    expect_status 123
    expect_in "$stderr" "refrain: no/such/directory.o: cannot be written"
    mkdir empty
    run_apart env PATH="$PWD/empty" "$REFRAIN" instrument app.o
    expect_status 123
    [ "$stderr" = "refrain: instrument: objcopy is not found, which renames the calls
hint: apt install binutils" ]
    run_apart env OBJCOPY=false "$REFRAIN" instrument app.o
    expect_status 123
    expect_in "$stderr" "refrain: app.o: "
    cmp app.o before.o
    [ -z "$(find . -name '*refrain-*')" ]
}

@test "files without calls, several files, quiet and JSON" {
    printf 'int nothing(void) { return 0; }\n' > nothing.c
    gcc -c nothing.c
    cp nothing.o before.o
    run_apart "$REFRAIN" instrument nothing.o
    expect_status 0
    [ "$stderr" = "refrain: nothing.o: has no calls of MCAPI" ]
    cmp nothing.o before.o
    gcc "${INCLUDES[@]}" -c "$PROGRAM/recv.c"
    chmod 640 recv.o
    mkdir out
    run_apart "$REFRAIN" instrument -q -o out nothing.o recv.o
    expect_status 0
    [ -z "$output$stderr" ]
    [ -e out/nothing.o ]
    [ "$(stat -c %a out/recv.o)" = 640 ]
    nm -u out/recv.o | grep -q refrain_mcapi_msg_recv
    run_apart "$REFRAIN" instrument --json recv.o
    expect_status 0
    python3 -c '
import json, sys
fact, = json.loads(sys.argv[1])["instrumented"]
assert fact["file"] == fact["output"] == "recv.o"
assert fact["calls"] >= len(fact["functions"]) > 3
assert "mcapi_msg_recv" in fact["functions"]
' "$stderr"
    run_apart "$REFRAIN" instrument -q --json recv.o
    expect_status 0
    [ -z "$output$stderr" ]
}

@test "the shell completes its options, files, and the compiler's command" {
    eval "$("$REFRAIN" --generate bash)"
    COMP_WORDS=(refrain instrument --l) COMP_CWORD=2
    _refrain
    [ "${COMPREPLY[*]}" = "--libs" ]
    touch only-this.o
    COMP_WORDS=(refrain instrument only) COMP_CWORD=2
    _refrain
    [ "${COMPREPLY[*]}" = "only-this.o" ]
}

@test "an installed program finds what it links" {
    # Where the build says that it would be.
    cmake -DCMAKE_INSTALL_PREFIX="$PWD/prefix" -P "$BUILD/src/mcapi/cmake_install.cmake" > /dev/null
    cmake -DCMAKE_INSTALL_PREFIX="$PWD/prefix" -P "$BUILD/src/cli/cmake_install.cmake" > /dev/null
    libs=$(prefix/bin/refrain instrument --libs)
    [[ $libs == "$PWD/prefix/"*"/librefrain-mcapi.a -pthread" ]]
    prefix/bin/refrain instrument -- cc "${INCLUDES[@]}" "$PROGRAM/recv.c" -o app -static "${MCAPI[@]}"
    REFRAIN=$PWD/prefix/bin/refrain repeats order ./app
    rm prefix/lib*/*/librefrain-mcapi.a prefix/lib/*/*/librefrain-mcapi.a 2> /dev/null || true
    run_apart prefix/bin/refrain instrument --libs
    expect_status 123
}
