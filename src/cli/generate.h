/* What the build makes out of the tables of verbs and options. */
#ifndef RF_CLI_GENERATE_H
#define RF_CLI_GENERATE_H

/* bash | zsh | manual VERB TEMPLATE; prints to standard output, returns an exit code. */
int rf_generate(char **words);

#endif
