/* The part of `doctor` that runs inside a rank. */
#ifndef RF_CLI_DOCTOR_H
#define RF_CLI_DOCTOR_H

/* Leaves a mark in REFRAIN_TRACE when the adapter was loaded into this process. */
int rf_doctor_probe(char **words);

#endif
