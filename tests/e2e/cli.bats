#!/usr/bin/env bats
# The command line itself: verbs, options, help, messages and exit codes. Needs no MPI.

load common

@test "no verb: short help on standard error, 120" {
    run_apart "$REFRAIN"
    expect_status 120
    [ -z "$output" ]
    expect_in "$stderr" "refrain record"
}

@test "an unknown verb: 120, with a suggestion" {
    run_apart "$REFRAIN" recrod touch ran
    expect_status 120
    [ "$stderr" = "refrain: recrod: unknown verb, did you mean record?
hint: refrain record -h" ]
    [ ! -e ran ]
}

@test "a verb like nothing known: 120, no suggestion" {
    run_apart "$REFRAIN" xyzzyx
    expect_status 120
    [ "$stderr" = "refrain: xyzzyx: unknown verb
hint: refrain -h" ]
}

@test "an unknown option before any verb: 120, with a suggestion" {
    run_apart "$REFRAIN" --hlep
    expect_status 120
    [ "$stderr" = "refrain: --hlep: unknown option, did you mean --help?
hint: refrain --help" ]
    run_apart "$REFRAIN" --vresion
    expect_in "$stderr" "did you mean --version?"
    run_apart "$REFRAIN" --json
    expect_status 120
    [ "$stderr" = "refrain: --json: unknown option
hint: refrain -h" ]
}

@test "an unknown option: 120, with a suggestion, and nothing is run" {
    run_apart "$REFRAIN" record --otput here touch ran
    expect_status 120
    [ "$stderr" = "refrain: --otput: unknown option of record, did you mean --output?
hint: refrain record -h" ]
    [ ! -e ran ]
    [ ! -e refrain.data ]
}

@test "an unknown letter: 120" {
    run_apart "$REFRAIN" info -z
    expect_status 120
    expect_in "$stderr" "refrain: -z: unknown option of info"
}

@test "a shortened option is not guessed" {
    run_apart "$REFRAIN" record --out here touch ran
    expect_status 120
    expect_in "$stderr" "did you mean --output?"
    [ ! -e ran ]
}

@test "an option without its argument: 120" {
    run_apart "$REFRAIN" record -o
    expect_status 120
    expect_in "$stderr" "-o: the option needs an argument"
}

@test "an argument for an option that takes none: 120" {
    run_apart "$REFRAIN" info --json=yes
    expect_status 120
    expect_in "$stderr" "--json: the option takes no argument"
}

@test "options of other verbs are unknown" {
    run_apart "$REFRAIN" record --rank 3 touch ran
    expect_status 120
    [ ! -e ran ]
}

@test "options end at the first other word" {
    run_apart "$REFRAIN" info somewhere --json
    expect_status 120
    [ "$stderr" = "refrain: --json: options come before other words
hint: refrain info --json somewhere" ]
    run_apart "$REFRAIN" replay somewhere --quiet
    expect_status 120
    run_apart "$REFRAIN" dump somewhere --limit 3
    expect_status 120
    [ "${stderr##*$'\n'}" = "hint: refrain dump -h" ]
}

@test "too many words: 120" {
    run_apart "$REFRAIN" check one two
    expect_status 120
    run_apart "$REFRAIN" ls here
    expect_status 120
}

@test "a missing command: 120" {
    run_apart "$REFRAIN" record
    expect_status 120
    [ "$stderr" = "refrain: record: the command is missing
hint: refrain record mpirun -n 4 ./program" ]
    run_apart "$REFRAIN" record -q --
    expect_status 120
    run_apart "$REFRAIN" replay --
    expect_status 120
    [ "${stderr##*$'\n'}" = "hint: refrain replay -h" ]
    run_apart "$REFRAIN" doctor --
    expect_status 120
}

@test "malformed numbers: 120" {
    run_apart "$REFRAIN" replay --stall-timeout soon
    expect_status 120
    run_apart "$REFRAIN" replay --stall-timeout -1
    expect_status 120
    run_apart "$REFRAIN" dump --limit 3x
    expect_status 120
    [ "$stderr" = "refrain: --limit 3x: not a whole number
hint: refrain dump -h" ]
}

@test "numbers that are too large: 120, and called so" {
    run_apart "$REFRAIN" dump --limit 99999999999999999999
    expect_status 120
    expect_in "$stderr" "--limit 99999999999999999999: too large"
    for seconds in 2000000000 1e999; do
        run_apart "$REFRAIN" replay --stall-timeout $seconds
        expect_status 120
        expect_in "$stderr" "--stall-timeout $seconds: too large"
    done
}

@test "schemes of later versions are named as such" {
    for scheme in race cdc; do
        run_apart "$REFRAIN" record -s "$scheme" touch ran
        expect_status 120
        expect_in "$stderr" "--scheme $scheme: not available in this version"
    done
    run_apart "$REFRAIN" record -s nonsense touch ran
    expect_status 120
    expect_in "$stderr" "unknown scheme"
    [ ! -e ran ]
}

@test "an unknown MPI: 120" {
    for verb in record "record --threads" doctor; do
        for name in lam threads; do
            # shellcheck disable=SC2086
            run_apart "$REFRAIN" $verb -m $name -- touch ran
            expect_status 120
            expect_in "$stderr" "--mpi $name: unknown MPI"
            [ ! -e ran ]
        done
    done
}

@test "-h after every verb: usage on standard output" {
    for verb in record replay extract debug info dump check ls doctor instrument cc fc bench; do
        run_apart "$REFRAIN" $verb -h
        expect_status 0
        expect_in "$output" "usage: refrain $verb"
        expect_in "$output" "--help"
        [ -z "$stderr" ]
    done
}

@test "--help shows the manual page, or the short help where there is none" {
    for verb in record replay extract debug info dump check ls doctor instrument cc fc bench; do
        run_apart "$REFRAIN" $verb --help
        expect_status 0
        expect_in "$output" "refrain $verb"
    done
    run_apart "$REFRAIN" --help
    expect_status 0
    expect_in "$output" "refrain record"
    mkdir empty
    run_apart env PATH="$PWD/empty" "$REFRAIN" record --help
    expect_status 0
    expect_in "$output" "usage: refrain record"
}

@test "--version" {
    run_apart "$REFRAIN" --version
    expect_status 0
    [[ $output =~ ^refrain\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "help and version that cannot be printed: 123" {
    for words in --version -h --help "record -h" "record --help"; do
        run_apart sh -c "\"\$0\" $words > /dev/full" "$REFRAIN"
        expect_status 123
        expect_in "$stderr" "refrain: cannot write to standard output: No space left on device"
    done
}

@test "the manual pages have the options of the table" {
    folder=$(dirname "$REFRAIN")/man
    [ -d "$folder" ] || missing "no manual pages in the build tree"
    for verb in record replay extract debug info dump check ls doctor instrument cc fc bench; do
        for option in $("$REFRAIN" $verb -h | grep -o -e '--[a-z-]*'); do
            grep -q -e "${option//-/\\\\-}" "$folder/refrain-$verb.1"
        done
    done
}

# expect_bash WORD... : MATCH...: what bash offers for the last word, in any order.
expect_bash() {
    COMP_WORDS=(refrain)
    while [ "$1" != : ]; do
        COMP_WORDS+=("$1")
        shift
    done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _refrain || true # where there is nothing to offer
    [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort -u)" = "$(printf '%s\n' "$@" | sort -u)" ] || {
        printf 'after "%s": %s\n' "${COMP_WORDS[*]}" "${COMPREPLY[*]}"
        return 1
    }
}

@test "bash completes verbs, options, choices, traces and commands" {
    eval "$("$REFRAIN" --generate bash)"
    mkdir commands elsewhere
    printf '#!/bin/sh\n' > commands/mpi-of-this-test
    chmod +x commands/mpi-of-this-test
    mkdir -p traces/app-1
    touch traces/app-1/manifest.json
    export PATH=$PWD/commands:$PATH REFRAIN_DIR=traces
    expect_bash re : record replay
    expect_bash --v : --version
    expect_bash replay --st : --stall-timeout
    expect_bash record -m '' : openmpi mpich mcapi
    expect_bash record -q --mpi = mp : mpich
    expect_bash record --output e : elsewhere
    expect_bash record --values ti : time
    expect_bash record --values time,r : time,random
    expect_bash record --values time,random,p : time,random,pid
    expect_bash info traces/a : traces/app-1
    expect_bash dump --rank 0 t : traces traces/app-1
    expect_bash dump traces/app-1 --l :
    expect_bash extract traces/app-1 --ra : --rank
    expect_bash extract traces/app-1 t :
    expect_bash debug traces/app-1 --rank 0 --ev : --event
    expect_bash record -q mpi-of : mpi-of-this-test
    # What follows the command are its own words.
    expect_bash record -q mpi-of-this-test -o e : elsewhere
    expect_bash record -q mpi-of-this-test -s '' : commands elsewhere traces
    expect_bash record -q mpi-of-this-test --th :
    for line in "record -q --" "replay --" "replay traces/app-1 --" "extract --rank 0 traces/app-1 --" "debug --" \
        "doctor --" "instrument --"; do
        # shellcheck disable=SC2086
        expect_bash $line mpi-of : mpi-of-this-test
        # shellcheck disable=SC2086
        expect_bash $line mpi-of-this-test -m e : elsewhere
    done
}

# expect_zsh LINE MATCH...: what zsh offers after the line, in any order.
expect_zsh() {
    local line=$1
    shift
    run_apart timeout 60 zsh "$BATS_TEST_DIRNAME/complete.zsh" "$PWD/functions" "$line"
    expect_status 0
    [ "$(sort -u <<< "$output")" = "$(printf '%s\n' "$@" | sort -u)" ] || {
        printf 'after "%s": %s\n' "$line" "$output"
        return 1
    }
}

@test "zsh completes verbs, options, choices, traces and commands" {
    command -v zsh > /dev/null || missing "no zsh"
    mkdir functions commands elsewhere
    "$REFRAIN" --generate zsh > functions/_refrain
    ln -s "$REFRAIN" commands/refrain
    printf '#!/bin/sh\n' > commands/mpi-of-this-test
    chmod +x commands/mpi-of-this-test
    mkdir -p traces/app-1
    touch traces/app-1/manifest.json
    export PATH=$PWD/commands:$PATH REFRAIN_DIR=traces
    expect_zsh "refrain re" record replay
    expect_zsh "refrain --v" --version
    expect_zsh "refrain replay --st" --stall-timeout
    expect_zsh "refrain record -m " openmpi mpich mcapi
    expect_zsh "refrain record --values ti" time
    expect_zsh "refrain record --values time,r" random
    expect_zsh "refrain extract traces/app-1 --ra" --rank
    expect_zsh "refrain debug traces/app-1 --rank 0 --ev" --event
    expect_zsh "refrain replay traces/app-1 --ra"
    expect_zsh "refrain record --output e" elsewhere
    expect_zsh "refrain info traces/" traces/app-1 app-1
    expect_zsh "refrain dump --rank 0 t" traces/app-1 traces
    expect_zsh "refrain record -q mpi-of" mpi-of-this-test
    expect_zsh "refrain record -q mpi-of-this-test e" elsewhere
    for line in "record -q --" "replay --" "replay traces/app-1 --" "doctor --"; do
        expect_zsh "refrain $line mpi-of" mpi-of-this-test
    done
}

@test "bench: names are listed, an unknown one is 120" {
    run_apart "$REFRAIN" bench
    expect_status 0
    run_apart "$REFRAIN" bench no-such-table
    expect_status 120
    expect_in "$stderr" "no-such-table: unknown table"
}

# A copy of the program, in a place that looks like a build tree (or, without scripts, like none).
@test "bench: words after the name, and the variables, reach the script" {
    mkdir -p build/bench/source
    cp "$REFRAIN" build/refrain
    printf '#!/bin/sh\nprintf "%%s|" "$REFRAIN" "$REFRAIN_BENCH_PROGRAMS" "$@"\nexit 7\n' > build/bench/source/table
    chmod +x build/bench/source/table
    run_apart build/refrain bench table --quick 'two words'
    expect_status 7
    [ "$output" = "$PWD/build/refrain|$PWD/build/bench|--quick|two words|" ]
    REFRAIN_BENCH_PROGRAMS=/elsewhere run_apart build/refrain bench table
    [ "$output" = "$PWD/build/refrain|/elsewhere|" ]
    run_apart build/refrain bench
    expect_status 0
    [ "$output" = table ]
}

@test "bench: an installed program says where the tables are measured" {
    mkdir -p prefix/bin
    cp "$REFRAIN" prefix/bin/refrain
    run_apart prefix/bin/refrain bench order
    expect_status 123
    expect_in "$stderr" "refrain: bench: the tables are measured in the source tree"
}

@test "the manual pages are without fault" {
    folder=$(dirname "$REFRAIN")/man
    [ -d "$folder" ] || missing "no manual pages in the build tree"
    command -v man > /dev/null || missing "no man"
    for page in "$folder"/*.1; do
        LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$page" > page.text 2> warnings.text
        [ ! -s warnings.text ] || { cat warnings.text; return 1; }
        [ -s page.text ]
    done
}
