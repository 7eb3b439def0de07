#!/usr/bin/env bats
# Programs linked with the embedded MCAPI runtime, as a user would do it.

load common

BUILD=$(dirname "$REFRAIN")

program() {
    cat > node.c << 'EOT'
#include <mcapi.h>
#include <stdio.h>
#include <stdlib.h>
/* node ME OTHER: tells the other one its number and prints what it hears. */
int main(int argc, char **argv) {
    mcapi_status_t status;
    mcapi_info_t info;
    char text[32], heard[32];
    size_t size;
    unsigned me = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned other = argc > 2 ? (unsigned)atoi(argv[2]) : me;
    mcapi_initialize(0, me, NULL, NULL, &info, &status);
    if (status != MCAPI_SUCCESS) {
        puts(mcapi_display_status(status, text, sizeof text));
        return 1;
    }
    mcapi_endpoint_t mine = mcapi_endpoint_create(1, &status);
    mcapi_endpoint_t theirs = mcapi_endpoint_get(0, other, 1, 20000, &status);
    snprintf(text, sizeof text, "hello from %u%s", me, argc > 3 ? argv[3] : "");
    mcapi_msg_send(mine, theirs, text, sizeof text, 0, &status);
    mcapi_msg_recv(mine, heard, sizeof heard, &size, &status);
    puts(heard);
    mcapi_finalize(&status);
    return status != MCAPI_SUCCESS;
}
EOT
}

# link PACKAGE SOURCE OUTPUT COMPILER...: with what pkg-config says.
link() {
    local package=$1 source=$2 output=$3 flags
    shift 3
    # Blanks in the path of a build are quoted as for a shell.
    eval "flags=($(pkg-config --cflags --libs "$package"))"
    "$@" -Wall -Wextra -Wpedantic -Wshadow -Werror -o "$output" "$source" "${flags[@]}" \
        "-Wl,-rpath,$(pkg-config --variable=libdir "$package")"
}

@test "links from the build tree, with C and C++, shared and static" {
    export PKG_CONFIG_PATH=$BUILD/lib/pkgconfig
    program
    link mcapi node.c node gcc -std=c17
    cp node.c node.cpp
    link mcapi node.cpp node-cpp g++
    gcc -o node-static node.c "-I$SOURCES/runtime/mcapi/include" "$BUILD/lib/libmcapi.a" -pthread
    for each in node node-cpp node-static; do
        run "./$each" 4
        expect_status 0
        [ "$output" = "hello from 4" ]
    done
}

@test "links from where it was installed" {
    cmake --install "$BUILD" --prefix "$PWD/installed" > /dev/null
    PKG_CONFIG_PATH=$(dirname "$(find installed -name mcapi.pc)")
    export PKG_CONFIG_PATH
    program
    link mcapi node.c node gcc -std=c17
    run ./node 5
    expect_status 0
    [ "$output" = "hello from 5" ]
    run readelf -d node
    expect_in "$output" "libmcapi.so.2"
    [ -z "$(grep -r "$SOURCES" installed/lib*/pkgconfig "installed/include" || true)" ]
}

@test "a program of version 1 that includes <mcapi.h>" {
    export PKG_CONFIG_PATH=$BUILD/lib/pkgconfig
    cat > old.c << 'EOT'
#include <mcapi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void *second(void *unused) {
    mcapi_version_t version;
    mcapi_status_t status;
    mcapi_initialize(2, &version, &status);
    mcapi_endpoint_t mine = mcapi_create_endpoint(7, &status);
    mcapi_endpoint_t theirs = mcapi_get_endpoint(1, 7, &status);
    mcapi_msg_send(mine, theirs, "one", 4, 1, &status);
    mcapi_finalize(&status);
    return unused;
}
int main(void) {
    mcapi_version_t version;
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_request_t *all[1] = {&request};
    pthread_t thread;
    char text[8] = "";
    size_t size = 0;
    mcapi_create_endpoint(7, &status);
    if (status != MCAPI_ENODE_NOTINIT)
        return 1;
    mcapi_initialize(1, &version, &status);
    if (status != MCAPI_SUCCESS)
        return 2;
    mcapi_endpoint_t mine = mcapi_create_endpoint(7, &status);
    mcapi_create_endpoint(7, &status);
    if (status != MCAPI_EENDP_ISCREATED)
        return 3;
    mcapi_msg_recv_i(mine, text, sizeof text, &request, &status);
    if (status != MCAPI_SUCCESS)
        return 4; /* accepted is success in version 1 */
    if (mcapi_test(&request, &size, &status) || status != MCAPI_INCOMPLETE)
        return 5;
    mcapi_wait(&request, &size, &status, 1);
    if (status != MCAPI_EREQ_TIMEOUT)
        return 6;
    pthread_create(&thread, NULL, second, NULL);
    if (mcapi_wait_any(1, all, &size, &status, MCAPI_INFINITE) != 0 || status != MCAPI_SUCCESS)
        return 7;
    pthread_join(thread, NULL);
    mcapi_msg_send(mine, mine, text, 1, MCAPI_MAX_PRIORITY + 1, &status);
    if (status != MCAPI_EPRIO)
        return 8;
    mcapi_finalize(&status);
    printf("%s %zu %s\n", text, size, version);
    return status != MCAPI_SUCCESS;
}
EOT
    link mcapi1 old.c old gcc -std=c17 -pthread
    cp old.c old.cpp
    link mcapi1 old.cpp old-cpp g++ -pthread
    for each in old old-cpp; do
        run "./$each"
        expect_status 0
        [ "$output" = "one 4 1.063 over 2015" ]
    done
}

@test "programs that are started one by one meet in the job they name, and in no other" {
    export PKG_CONFIG_PATH=$BUILD/lib/pkgconfig
    program
    link mcapi node.c node gcc
    MCAPI_JOB="e2e/$$ a" ./node 1 2 " in a" > a1 &
    MCAPI_JOB="e2e/$$ a" ./node 2 1 " in a" > a2 &
    MCAPI_JOB="e2e/$$ b" ./node 1 2 " in b" > b1 &
    MCAPI_JOB="e2e/$$ b" ./node 2 1 " in b" > b2 &
    wait
    [ "$(cat a1 a2 b1 b2)" = "hello from 2 in a
hello from 1 in a
hello from 2 in b
hello from 1 in b" ]
    if ls /dev/shm | grep "e2e=2f$$"; then return 1; fi
}

@test "what a killed job leaves is removed by the next start, its own or another's" {
    export PKG_CONFIG_PATH=$BUILD/lib/pkgconfig
    program
    link mcapi node.c node gcc
    for next in "killed-$$" "other-$$" ""; do
        MCAPI_JOB=killed-$$ ./node 1 9 &
        killed=$!
        until ls /dev/shm | grep -q "killed-$$"; do sleep 0.01; done
        kill -9 $killed
        wait $killed || true # now it is there, unless some other program has started meanwhile
        run env MCAPI_JOB="$next" ./node 1 1
        expect_status 0
        if ls /dev/shm | grep "killed-$$"; then return 1; fi
    done
}

@test "a name that is taken, and limits from the environment" {
    export PKG_CONFIG_PATH=$BUILD/lib/pkgconfig
    program
    link mcapi node.c node gcc
    # Until the first one has its name, another one may get it, and the first one ends.
    first=$$
    until run env MCAPI_JOB=taken-$$ MCAPI_NODES=2 ./node 1 && [ "$status" -eq 1 ]; do
        if [ $first = $$ ] || ! kill -0 $first; then
            MCAPI_JOB=taken-$$ MCAPI_NODES=2 ./node 1 9 > /dev/null &
            first=$!
        fi
        sleep 0.05
    done
    [ "$output" = MCAPI_ERR_NODE_INITIALIZED ]
    run env MCAPI_JOB=taken-$$ ./node 2
    expect_status 0
    MCAPI_JOB=taken-$$ ./node 3 8 > /dev/null &
    second=$!
    until run env MCAPI_JOB=taken-$$ ./node 2 && [ "$status" -eq 1 ]; do sleep 0.05; done
    [ "$output" = MCAPI_ERR_NODE_INITFAILED ]
    kill -9 $first $second
    wait $first $second || true
    ./node 1 > /dev/null
    if ls /dev/shm | grep "taken-$$"; then return 1; fi
}

@test "only the API is exported, and all of it has tests of its statuses" {
    run nm -D --defined-only "$BUILD/lib/libmcapi.so"
    [ -z "$(echo "$output" | awk '{print $3}' | grep -v -E '^mcapix?_')" ]
    declared=$(grep -o -h -E '\bmcapi_[a-z0-9_]+\(' "$SOURCES/runtime/mcapi/include/mcapi.h" | tr -d '(' | sort -u)
    [ "$(echo "$declared" | wc -l)" -eq 50 ]
    for name in $declared; do
        echo "$output" | grep -q " T $name\$" || missing "$name is not exported"
        grep -q -E "^(CASE|NEVER)\(${name#mcapi_}, " "$SOURCES/tests/mcapi/statuses.def" ||
            missing "no status of $name is tested"
    done
    # Inside the library nobody calls through an exported name: a preloaded tool would see it.
    [ -z "$(readelf -r --wide "$BUILD/lib/libmcapi.so" | grep -E 'mcapix?_' || true)" ]
}
