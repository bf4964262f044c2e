#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent.h"
#include "agent_rights.h"

#include "base/log.h"
#include "base/service_ready.h"
#include "http/http_address.h"
#include "metrics/metrics_endpoint.h"
#include "node-agent/counters/counter_child.h"
#include "node-agent/metrics/agent_metrics.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/watch/bpf_options.h"
#include "options/option_line.h"
#include "proto/install_paths.h"
#include "proto/trust/endpoint.h"
#include "proto/trust/key_set.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
};

struct arguments {
	struct agent_options options;
	const char *symbol_cache, *keys_path;
	struct http_address metrics; /* size 0: none */
	char program[PATH_MAX];
	bool insecure;
	struct key_set keys;
};

static int take_bpf(void *options, const char *name, const char *value, char **error)
{
	return bpf_options_take(options, name, value, error);
}

/* OPTION_LINE_GO; else the exit code. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	struct agent_options *options = &arguments->options;
	enum log_level level = LOG_LEVEL_INFO;
	const struct option_target targets[] = {
		{"connect", .text = &options->endpoint},
		{"socket", .text = &options->socket_path},
		{"node-name", .text = &options->node_name},
		{"devices", .text = &options->devices_path},
		{"stack-source", .choice = &options->probe.source, .first = STACK_SOURCE_GUEST},
		{"inlines", .flag = &options->inlines},
		{"symbol-cache", .text = &arguments->symbol_cache},
		{"keys", .text = &arguments->keys_path},
		{"insecure", .flag = &arguments->insecure},
		{"metrics", .take = metrics_endpoint_take, .context = &arguments->metrics},
		{"any-user", .flag = &options->any_user},
		{"watch-pid", .pid = &options->bpf.watch_pid},
		{"sample-counters", .take = counter_option_take, .context = &options->counters},
		OPTION_TARGETS_MESSAGES(&level),
		{NULL, .take = take_bpf, .context = &options->bpf},
	};

	int code = option_line_parse(&option_table_agent, targets,
				     sizeof(targets) / sizeof(*targets), argc, argv);

	log_set_level(level);
	return code;
}

static int check(const struct arguments *arguments)
{
	const struct option_table *table = &option_table_agent;
	const char *endpoint = arguments->options.endpoint;

	if (!endpoint)
		return option_line_refuse(table, "--connect is missing");
	if (!arguments->options.socket_path)
		return option_line_refuse(table, "--socket is missing");
	if (strncmp(endpoint, "tcp://", 6) != 0 && strncmp(endpoint, "ipc://", 6) != 0)
		return option_line_refuse(
			table, "connect: %s: must be like tcp://HOST:PORT or ipc://PATH", endpoint);
	if (!endpoint_is_local(endpoint) && !arguments->keys_path && !arguments->insecure)
		return option_line_refuse(table,
					  "connect: %s: other machines can reach it and nothing "
					  "protects it: --keys does; --insecure allows that",
					  endpoint);
	return OPTION_LINE_GO;
}

/* 0 or the exit code. */
static int read_keys(struct arguments *arguments)
{
	char *error;
	int r;

	if (!arguments->keys_path)
		return EXIT_OK;
	r = key_set_read(arguments->keys_path, KEY_ROLE_AGENT, &arguments->keys, &error);
	if (r)
		log_error("--keys: %s", error ? error : strerror(-r));
	free(error);
	arguments->options.keys = &arguments->keys;
	return r ? EXIT_FAILED : EXIT_OK;
}

static void *wait_for_signal(void *argument)
{
	struct agent *agent = argument;
	sigset_t signals;
	int signal;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigwait(&signals, &signal);
	agent_stop(agent);
	return NULL;
}

/* Signals are taken by a thread of their own, from which everything may be called. */
static int run(struct agent *agent)
{
	pthread_t waiter;
	int r = -pthread_create(&waiter, NULL, wait_for_signal, agent);

	if (r) {
		log_error("start: signals: %s", strerror(-r));
		return r;
	}
	r = agent_run(agent);
	pthread_cancel(waiter);
	pthread_join(waiter, NULL);
	return r;
}

/* glibc caches seven freed blocks of each size below 1 KiB in each thread, and each cached block keeps its page. Only
 * the environment with which a program begins can forbid it, so the agent begins once more. With more rights than its
 * caller, or where this fails, it works as well but is larger. */
static void keep_no_freed_blocks(char **argv)
{
	char path[PATH_MAX];

	if (getauxval(AT_SECURE) || getenv("GLIBC_TUNABLES"))
		return;
	if (install_paths_program(argv[0], path) ||
	    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1))
		return;
	execv(path, argv);
	unsetenv("GLIBC_TUNABLES");
}

/* Large blocks go back to the system when they are freed, so that memory for one guest is not kept for good. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	/* Threads that close descriptors come and go, and would each leave a heap of its own. */
	mallopt(M_ARENA_MAX, 1);
}

/* Each guest takes two descriptors. Without the right to more, fewer get in. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Call it once everything that needs more capabilities is open. */
static int give_up(const struct capability_set *rights)
{
	char text[CAPABILITY_SET_TEXT_MAX];
	int r = capability_set_keep(rights);

	if (r)
		log_error("start: capabilities cannot be given up: %s", strerror(-r));
	else
		log_info("keeps %s", capability_set_text(rights, text));
	return r;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.options.bpf.stack_pages = BPF_OPTIONS_STACK_PAGES_MAX};
	struct metrics_endpoint *endpoint = NULL;
	struct service_ready ready;
	struct capability_set rights;
	struct agent *agent;
	char *error = NULL, *symbol_cache;
	sigset_t signals;

	if (counter_child_is_asked(argc, argv))
		return counter_child_run(argv);
	keep_no_freed_blocks(argv);
	log_begin("flamegrid-agent", NULL, LOG_LEVEL_INFO);
	service_ready_take(&ready);
	int code = parse(argc, argv, &arguments);

	if (code == OPTION_LINE_GO)
		code = check(&arguments);
	if (code == OPTION_LINE_GO && read_keys(&arguments))
		code = EXIT_FAILED;
	if (code != OPTION_LINE_GO)
		return code;
	if (!arguments.keys_path && !endpoint_is_local(arguments.options.endpoint))
		log_warning("%s: what is sent there can be read and forged on the way",
			    arguments.options.endpoint);

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);

	give_memory_back();
	raise_limit();
	arguments.options.may_restart = true;
	if (install_paths_program(argv[0], arguments.program) == 0)
		arguments.options.counters.program = arguments.program;
	symbol_cache = symbol_cache_directory(arguments.symbol_cache);
	arguments.options.symbol_cache = symbol_cache;
	agent_rights_choose(&arguments.options, false, &rights);
	arguments.options.rights = &rights;
	int r = agent_create(&arguments.options, &agent, &error);
	free(symbol_cache);
	if (r) {
		log_error("%s", error ? error : "start: no memory");
		free(error);
		return EXIT_FAILED;
	}
	code = give_up(&rights) ? EXIT_FAILED : EXIT_OK;
	if (code == EXIT_OK) {
		/* After that, so that the server's thread lacks the capabilities, too. */
		endpoint = metrics_endpoint_start(&arguments.metrics, agent_metrics_write, agent);
		log_info("listening on %s", arguments.options.socket_path);
		r = service_ready_tell(&ready);
		if (r)
			log_warning("NOTIFY_SOCKET: %s", strerror(-r));
		code = run(agent) ? EXIT_FAILED : EXIT_OK;
	}
	metrics_endpoint_stop(endpoint);
	agent_destroy(agent);
	return code;
}
