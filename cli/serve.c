/* The verb `serve`: shows profiles in a browser. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "cli/serve/serve_site.h"
#include "http/http_server.h"
#include "options/option_line.h"

#define DEFAULT_ADDRESS "127.0.0.1:7420"
#define ANY_ADDRESS     "127.0.0.1:0"
#define ANSWER_MS       600000u /* a large page may come through a slow tunnel */
#define HOST_MAX        256u

static const char *const here[] = {"."};

struct serve {
	struct http_address address; /* size 0: the default one */
	const char *const *paths;
	uint32_t nr_paths;
	bool control;
};

static int take_address(void *context, const char *name, const char *value, char **error)
{
	(void)name;
	return http_address_parse(value, context, error);
}

/* OPTION_LINE_GO; otherwise the exit status. */
static int parse(struct serve *serve, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"listen", .take = take_address, .context = &serve->address},
		{"control", .flag = &serve->control},
	};
	int status = option_line_parse(&option_table_serve, targets,
				       sizeof(targets) / sizeof(*targets), argc, argv);

	serve->paths = here;
	serve->nr_paths = 1;
	if (status == OPTION_LINE_GO && optind < argc) {
		serve->paths = (const char *const *)argv + optind;
		serve->nr_paths = (uint32_t)(argc - optind);
	}
	return status;
}

/* 0, or EXIT_FAILED after a message. */
static int check_paths(const struct serve *serve)
{
	struct stat info;

	for (uint32_t i = 0; i < serve->nr_paths; i++) {
		if (stat(serve->paths[i], &info) == 0)
			continue;
		log_error("%s: %s", serve->paths[i], strerror(errno));
		return EXIT_FAILED;
	}
	return 0;
}

/* The signals that end the verb are taken by sigwait(). */
static void block_signals(sigset_t *ending)
{
	sigemptyset(ending);
	sigaddset(ending, SIGINT);
	sigaddset(ending, SIGTERM);
	sigaddset(ending, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ending, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int start_at(const char *address, struct http_server_options *options,
		    struct http_server **server, char **error)
{
	int status = http_address_parse(address, &options->address, error);

	return status ? status : http_server_start(options, server, error);
}

static int start(const struct serve *serve, struct serve_site *site, struct http_server **server,
		 char **error)
{
	struct http_server_options options = {.address = serve->address,
					      .answer = serve_site_answer,
					      .tend = serve_site_tend,
					      .context = site,
					      .time_ms = ANSWER_MS,
					      .takes_posts = serve->control};

	if (serve->address.size)
		return http_server_start(&options, server, error);
	int status = start_at(DEFAULT_ADDRESS, &options, server, error);

	if (status != -EADDRINUSE)
		return status;
	free(*error);
	*error = NULL;
	return start_at(ANY_ADDRESS, &options, server, error);
}

/* What a user does next. */
static void say_where(const struct http_server *server, const struct serve_site *site)
{
	const struct http_address *address = http_server_address(server);
	char text[HTTP_ADDRESS_TEXT_MAX], host[HOST_MAX] = "";
	const bool is_remote = getenv("SSH_CONNECTION") != NULL;

	http_address_text(address, text);
	printf("http://%s/?token=%s\n", text, serve_site_token(site));
	fflush(stdout);
	if (!http_address_is_local(address))
		log_warning("--listen %s: nothing is encrypted; who sees the network's packets can "
			    "read the token and the profiles",
			    text);
	else if (is_remote && gethostname(host, sizeof(host) - 1) == 0)
		log_notice("on your own machine: ssh -N -L %s:%s %s, then open that address there",
			   strrchr(text, ':') + 1, text, host);
	log_notice("Ctrl-C ends it");
}

static int run(const struct serve *serve)
{
	struct http_server *server = NULL;
	struct serve_site *site;
	char *error = NULL;
	sigset_t ending;
	int number;

	block_signals(&ending);
	int status = serve_site_create(serve->paths, serve->nr_paths, serve->control, &site);

	if (!status) {
		serve_site_begin(site);
		status = start(serve, site, &server, &error);
	}
	if (status) {
		log_error("%s", error ? error : strerror(-status));
	} else {
		say_where(server, site);
		sigwait(&ending, &number);
	}
	free(error);
	http_server_stop(server);
	serve_site_destroy(site);
	return status ? EXIT_FAILED : EXIT_OK;
}

int verb_serve(const char *program, int argc, char **argv)
{
	struct serve serve = {0};
	int status = parse(&serve, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	status = check_paths(&serve);
	return status ? status : run(&serve);
}
