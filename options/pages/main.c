/* option_pages FORMAT [SOURCE] writes a manual page (man, from SOURCE) or a completion script (bash, zsh, fish) to
 * standard output. The build calls it. */
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "man_page.h"

static const struct {
	const char *shell;
	void (*write)(FILE *out);
} scripts[] = {
	{"bash", completion_write_bash},
	{"zsh", completion_write_zsh},
	{"fish", completion_write_fish},
};

static int write_page(const char *path)
{
	FILE *source = fopen(path, "re");
	int result;

	if (!source) {
		perror(path);
		return 1;
	}
	result = man_page_write(stdout, source, path);
	fclose(source);
	return result < 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "man") == 0)
		return write_page(argv[2]);
	for (size_t i = 0; argc == 2 && i < sizeof(scripts) / sizeof(*scripts); i++)
		if (strcmp(argv[1], scripts[i].shell) == 0) {
			scripts[i].write(stdout);
			return fflush(stdout) != 0;
		}
	fputs("option_pages: usage: man SOURCE | bash | zsh | fish\n", stderr);
	return 2;
}
