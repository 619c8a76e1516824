// SPDX-License-Identifier: MIT
// Several processes that train together (the MPI build). In the ordinary build all of this does nothing.
#ifndef SINEW_CLI_TEAM_H
#define SINEW_CLI_TEAM_H

#include "cli/cli.h"

// Joins the other processes. All but the first say nothing from then on.
void sn_cli_team_start(int *argc, char ***argv);
sn_team *sn_cli_team(void); // NULL: alone
int sn_cli_team_here(void); // processes on this machine
// Leaves them; the exit status, which is that of all.
int sn_cli_team_end(int status);
// Fails unless all processes read the same.
sn_status sn_cli_team_check(cli *c, const sn_examples *examples);

#endif
