#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcapi_names.h"
#include "messages.h"
#include "options.h"
#include "text.h"

/* Text in a manual page: a hyphen that is typed must not become a dash. */
static void put_roff(const char *text) {
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void manual_options(const struct rf_verb *verb) {
    for (size_t i = 0; i < rf_option_count; i++) {
        const struct rf_option *option = &rf_option_table[i];
        if (!rf_verb_takes(verb, option))
            continue;
        fputs(".TP\n", stdout);
        if (option->letter)
            printf("\\fB\\-%c\\fR%s", option->letter, option->name ? ", " : "");
        if (option->name) {
            fputs("\\fB\\-\\-", stdout);
            put_roff(option->name);
            fputs("\\fR", stdout);
        }
        if (option->argument)
            printf(" \\fI%s\\fR", option->argument);
        putchar('\n');
        put_roff(option->help);
        puts(".");
    }
}

static void manual_verbs(void) {
    for (size_t i = 0; i < RF_VERBS; i++) {
        printf(".TP\n\\fBrefrain %s\\fR ", rf_verbs[i].name);
        put_roff(rf_verbs[i].synopsis);
        putchar('\n');
        put_roff(rf_verbs[i].summary);
        printf("; see\n.BR refrain\\-%s (1).\n", rf_verbs[i].name);
    }
}

/* Copies a template; lines of the form @NAME@ are replaced, @VERSION@ anywhere. */
static int manual(const char *name, const char *path) {
    const struct rf_verb *verb = rf_find_verb(name);
    FILE *file = fopen(path, "re");
    if (!file)
        return RF_EXIT_BUG;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        char *version = strstr(line, "@VERSION@");
        if (strcmp(line, "@OPTIONS@\n") == 0 && verb)
            manual_options(verb);
        else if (strcmp(line, "@SYNOPSIS@\n") == 0 && verb) {
            printf(".B refrain %s\n", verb->name);
            put_roff(verb->synopsis);
            putchar('\n');
        } else if (strcmp(line, "@SUMMARY@\n") == 0 && verb) {
            printf("refrain\\-%s \\- ", verb->name);
            put_roff(verb->summary);
            putchar('\n');
        } else if (strcmp(line, "@VERBS@\n") == 0)
            manual_verbs();
        else if (version)
            printf("%.*s%s%s", (int)(version - line), line, REFRAIN_VERSION,
                   version + strlen("@VERSION@"));
        else
            fputs(line, stdout);
    }
    free(line);
    fclose(file);
    return fflush(stdout) == 0 ? RF_EXIT_OK : RF_EXIT_BUG;
}

static bool takes_command(const struct rf_verb *verb) {
    return verb->operands == RF_TAKES_COMMAND || verb->operands == RF_TAKES_OPTIONAL_COMMAND ||
           verb->operands == RF_TAKES_TRACE_AND_COMMAND ||
           verb->operands == RF_TAKES_TRACE_BETWEEN || verb->operands == RF_TAKES_FILES;
}

static const char *bash_operand(const struct rf_verb *verb) {
    switch (verb->operands) {
    case RF_TAKES_COMMAND:
    case RF_TAKES_OPTIONAL_COMMAND:
        return "command";
    case RF_TAKES_TRACE:
    case RF_TAKES_TRACE_AND_COMMAND:
        return "trace";
    case RF_TAKES_TRACE_BETWEEN:
        return "between";
    case RF_TAKES_NAME:
        return "bench";
    case RF_TAKES_FILES:
    case RF_TAKES_WORDS:
        return "file";
    case RF_TAKES_NOTHING:
        break;
    }
    return "nothing";
}

static void bash_verb(const struct rf_verb *verb) {
    printf("    %s)\n      options='", verb->name);
    bool first = true;
    for (size_t i = 0; i < rf_option_count; i++) {
        const struct rf_option *option = &rf_option_table[i];
        if (!rf_verb_takes(verb, option))
            continue;
        if (option->name)
            printf("%s--%s", first ? "" : " ", option->name);
        else
            printf("%s-%c", first ? "" : " ", option->letter);
        first = false;
    }
    fputs("'\n      arguments=' ", stdout);
    for (size_t i = 0; i < rf_option_count; i++) {
        const struct rf_option *option = &rf_option_table[i];
        if (!option->argument || !rf_verb_takes(verb, option))
            continue;
        if (option->letter)
            printf("-%c ", option->letter);
        if (option->name)
            printf("--%s ", option->name);
    }
    printf("'\n      dashes=%d operand=%s ;;\n", takes_command(verb), bash_operand(verb));
}

static void bash_argument(const struct rf_option *option) {
    const char *words = option->completion;
    fputs("      ", stdout);
    if (option->letter)
        printf("-%c|", option->letter);
    printf("--%s) ", option->name);
    if (strcmp(words, "@directories") == 0)
        puts("COMPREPLY=($(compgen -d -- \"$current\")) ;;");
    else if (words[0] == ',')
        printf("COMPREPLY=($(compgen -P \"${current%%\"${current##*,}\"}\" -W '%s' -- "
               "\"${current##*,}\")) ;;\n",
               words + 1);
    else
        printf("COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n", words);
}

static void bash(void) {
    fputs("# bash completion for refrain; generated from its table of verbs and options.\n"
          "_refrain() {\n"
          "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
          "  local verb=${COMP_WORDS[1]} options='' arguments='' operand=nothing place word\n"
          "  local -i at dashes=0 command=0 operands=0\n"
          "  COMPREPLY=()\n"
          "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "    COMPREPLY=($(compgen -W '-h --help --version",
          stdout);
    for (size_t i = 0; i < RF_VERBS; i++)
        printf(" %s", rf_verbs[i].name);
    fputs("' -- \"$current\"))\n    return\n  fi\n  case $verb in\n", stdout);
    for (size_t i = 0; i < RF_VERBS; i++)
        bash_verb(&rf_verbs[i]);
    fputs("    *) return ;;\n"
          "  esac\n"
          "  # Where do options end, and where does a command line of its own begin?\n"
          "  for ((at = 2; at < COMP_CWORD && !command; at++)); do\n"
          "    word=${COMP_WORDS[at]}\n"
          "    if [ \"$word\" = -- ] && ((dashes)); then\n"
          "      command=at+1\n"
          "    elif [[ $word == -* && $word != -- && -n $options ]]; then\n"
          "      if [ \"${COMP_WORDS[at+1]}\" = = ]; then\n"
          "        at+=2\n"
          "      elif [[ $arguments == *\" $word \"* ]]; then\n"
          "        at+=1\n"
          "      fi\n"
          "    elif [ \"$operand\" = command ]; then\n"
          "      command=at\n"
          "    else\n"
          "      [ \"$word\" = -- ] || operands+=1\n"
          "      [ \"$operand\" = between ] || options=''\n"
          "    fi\n"
          "  done\n"
          "  if ((command)); then\n"
          "    ((COMP_CWORD > command)) || COMPREPLY=($(compgen -c -- \"$current\"))\n"
          "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
          "    return\n"
          "  fi\n"
          "  if ((at > COMP_CWORD)); then\n"
          "    [ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    case $previous in\n",
          stdout);
    for (size_t i = 0; i < rf_option_count; i++)
        if (rf_option_table[i].argument && rf_option_table[i].name)
            bash_argument(&rf_option_table[i]);
    fputs(
        "    esac\n"
        "    return\n"
        "  fi\n"
        "  if [[ $current == -* ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
        "    return\n"
        "  fi\n"
        "  case $operand in\n"
        "    trace|between)\n"
        "      ((operands)) && return\n"
        "      place=${REFRAIN_DIR:-refrain.data}\n"
        "      for word in \"$place\"/*/manifest.json; do\n"
        "        [ -e \"$word\" ] && COMPREPLY+=($(compgen -W \"${word%/manifest.json}\" -- "
        "\"$current\"))\n"
        "      done\n"
        "      COMPREPLY+=($(compgen -d -- \"$current\")) ;;\n"
        "    bench)\n"
        "      if ((operands)); then\n"
        "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
        "      else\n"
        "        COMPREPLY=($(compgen -W \"$(refrain bench 2>/dev/null)\" -- \"$current\"))\n"
        "      fi ;;\n"
        "    file) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
        "    command) COMPREPLY=($(compgen -c -- \"$current\") $(compgen -f -- \"$current\")) ;;\n"
        "  esac\n"
        "}\n"
        "complete -o filenames -F _refrain refrain\n",
        stdout);
}

/* Text between single quotes of a zsh specification. */
static void put_zsh(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", stdout);
        else if (strchr("[]:", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void zsh_option(const struct rf_option *option) {
    for (int long_form = 0; long_form < 2; long_form++) {
        if (long_form ? !option->name : !option->letter)
            continue;
        fputs("        '", stdout);
        if (long_form)
            printf("--%s", option->name);
        else
            printf("-%c", option->letter);
        putchar('[');
        put_zsh(option->help);
        putchar(']');
        if (option->argument) {
            putchar(':');
            put_zsh(option->argument);
            putchar(':');
        }
        if (option->argument && strcmp(option->completion, "@directories") == 0)
            fputs("_files -/", stdout);
        else if (option->argument && option->completion[0] == ',')
            printf(" _values -s , %s %s", option->name, option->completion + 1);
        else if (option->argument && *option->completion)
            printf("(%s)", option->completion);
        fputs("' \\\n", stdout);
    }
}

static void zsh(void) {
    fputs("#compdef refrain\n"
          "# zsh completion for refrain; generated from its table of verbs and options.\n"
          "_refrain_traces() {\n"
          "  local -a traces\n"
          "  traces=(${REFRAIN_DIR:-refrain.data}/*/manifest.json(N:h))\n"
          "  compadd -f -- $traces\n"
          "  _files -/\n"
          "}\n"
          "# What follows -- is a command line of its own.\n"
          "_refrain_command() {\n"
          "  local place=${words[(i)--]}\n"
          "  (( place < CURRENT )) || return 1\n"
          "  shift $place words\n"
          "  (( CURRENT -= place ))\n"
          "  _normal\n"
          "  return 0\n"
          "}\n"
          "_refrain() {\n"
          "  local -a verbs\n"
          "  if (( CURRENT == 2 )); then\n"
          "    [[ $PREFIX != -* ]] || compadd -- -h --help --version\n"
          "    verbs=(\n",
          stdout);
    for (size_t i = 0; i < RF_VERBS; i++) {
        printf("      '%s:", rf_verbs[i].name);
        put_zsh(rf_verbs[i].summary);
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    _describe verb verbs\n"
          "    return\n"
          "  fi\n"
          "  shift words\n"
          "  (( CURRENT-- ))\n"
          "  case $words[1] in\n",
          stdout);
    for (size_t i = 0; i < RF_VERBS; i++) {
        printf("    %s)\n", rf_verbs[i].name);
        if (takes_command(&rf_verbs[i]))
            puts("      _refrain_command && return");
        bool between = rf_verbs[i].operands == RF_TAKES_TRACE_BETWEEN;
        printf("      _arguments -S%s \\\n", between ? "" : " -A '-*'");
        for (size_t j = 0; j < rf_option_count; j++)
            if (rf_verb_takes(&rf_verbs[i], &rf_option_table[j]))
                zsh_option(&rf_option_table[j]);
        switch (rf_verbs[i].operands) {
        case RF_TAKES_COMMAND:
            fputs("        '*::command:_normal' ;;\n", stdout);
            break;
        case RF_TAKES_TRACE:
        case RF_TAKES_TRACE_AND_COMMAND:
        case RF_TAKES_TRACE_BETWEEN:
            fputs("        '1:trace:_refrain_traces' ;;\n", stdout);
            break;
        case RF_TAKES_NAME:
            fputs("        '1:name:($(refrain bench 2>/dev/null))' '*:argument:_files' ;;\n",
                  stdout);
            break;
        case RF_TAKES_FILES:
        case RF_TAKES_WORDS:
            fputs("        '*:file:_files' ;;\n", stdout);
            break;
        case RF_TAKES_OPTIONAL_COMMAND: /* only after -- */
        case RF_TAKES_NOTHING:
            fputs("        ;;\n", stdout);
            break;
        }
    }
    fputs("  esac\n}\n_refrain \"$@\"\n", stdout);
}

int rf_generate(char **words) {
    if (words[0] && strcmp(words[0], "bash") == 0)
        bash();
    else if (words[0] && strcmp(words[0], "zsh") == 0)
        zsh();
    else if (words[0] && strcmp(words[0], "names") == 0)
        rf_mcapi_print_header();
    else if (words[0] && strcmp(words[0], "manual") == 0 && words[1] && words[2])
        return manual(words[1], words[2]);
    else
        return RF_EXIT_USAGE;
    return RF_EXIT_OK;
}
