/* Writes a shell's script that completes the command lines of all programs. Single-threaded. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include <stdio.h>

void completion_write_bash(FILE *out);
void completion_write_zsh(FILE *out);
void completion_write_fish(FILE *out);

#endif
