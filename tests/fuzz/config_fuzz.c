/* A site's configuration. Names and values are in the configuration's own text, in the order of their lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/site_config.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct site_config *config, const char *text)
{
	if (text < config->text || text + strlen(text) >= config->text + sizeof(config->text))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct site_config config;
	char *error = NULL;
	unsigned int line = 0;

	setenv(SITE_CONFIG_ENV, fuzz_file_write(data, size), 1);
	if (site_config_read(&config, &error) != 0) {
		if (!error)
			abort();
		free(error);
		return 0;
	}
	for (size_t i = 0; i < config.nr; i++) {
		check_text(&config, config.settings[i].name);
		if (config.settings[i].value)
			check_text(&config, config.settings[i].value);
		if (config.settings[i].line <= line)
			abort();
		line = config.settings[i].line;
	}
	return 0;
}
