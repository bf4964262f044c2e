#include "driver_version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 256

/* 550.54.15: numbers with dots between them; "x86_64" is none. */
static bool is_version(const char *word)
{
	return isdigit((unsigned char)*word) && strchr(word, '.') &&
	       word[strspn(word, "0123456789.")] == '\0' && strlen(word) < DRIVER_VERSION_SIZE;
}

/* The first line says: NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024. */
bool driver_version_read(const char *path, char version[static DRIVER_VERSION_SIZE])
{
	char line[LINE_SIZE], *rest = NULL;
	FILE *file = fopen(path, "re");
	bool has_line = file && fgets(line, sizeof(line), file);

	*version = '\0';
	if (file)
		fclose(file);
	for (char *word = has_line ? strtok_r(line, " \t\n", &rest) : NULL; word;
	     word = strtok_r(NULL, " \t\n", &rest))
		if (is_version(word)) {
			strcpy(version, word);
			return true;
		}
	return false;
}
