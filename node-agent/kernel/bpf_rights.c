#include "bpf_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STATUS_SIZE  8192
#define CAPABILITIES "\nCapEff:"

/* Numbers of linux/capability.h; some headers lack the last two. */
#define SYS_ADMIN 21
#define PERFMON   38
#define BPF       39

static bool read_text(const char *root, const char *path, char *text, size_t size)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

static bool has_capability(uint64_t capabilities, unsigned int capability)
{
	return capabilities & (1ull << capability | 1ull << SYS_ADMIN);
}

void bpf_rights_read(struct bpf_rights *rights, const char *root)
{
	char text[STATUS_SIZE], types[1];
	uint64_t capabilities = 0;

	if (read_text(root, "/proc/self/status", text, sizeof(text))) {
		const char *line = strstr(text, CAPABILITIES);

		if (line)
			capabilities = strtoull(line + strlen(CAPABILITIES), NULL, 16);
	}
	*rights = (struct bpf_rights){
		.may_bpf = has_capability(capabilities, BPF),
		.may_perfmon = has_capability(capabilities, PERFMON),
		.has_types = read_text(root, "/sys/kernel/btf/vmlinux", types, sizeof(types)),
		.is_locked = read_text(root, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
			     strstr(text, "[confidentiality]"),
	};
}

bool bpf_rights_missing(const struct bpf_rights *rights, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX])
{
	const char *missing = NULL;

	if (!rights->may_bpf)
		missing = "CAP_BPF is missing (root has it)";
	else if (!rights->may_perfmon)
		missing = "CAP_PERFMON is missing (root has it)";
	else if (!rights->has_types)
		missing = "/sys/kernel/btf/vmlinux is missing: this kernel was built without "
			  "CONFIG_DEBUG_INFO_BTF";
	else if (rights->is_locked)
		missing = "the kernel is locked down (lockdown=confidentiality)";
	line[0] = '\0';
	if (missing)
		snprintf(line, BPF_RIGHTS_LINE_MAX, "%s: %s", missing, lost);
	return missing;
}

static int paranoia(void)
{
	char text[32];

	return read_text("", "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text))
		       ? atoi(text)
		       : 0;
}

void bpf_rights_explain(const char *what, int error, const char *lost,
			char line[static BPF_RIGHTS_LINE_MAX])
{
	struct rlimit memory = {0};

	getrlimit(RLIMIT_MEMLOCK, &memory);
	if ((error == -EACCES || error == -EPERM) && strcmp(what, "perf_event_open") == 0)
		snprintf(line, BPF_RIGHTS_LINE_MAX, "%s: %s (kernel.perf_event_paranoid is %d): %s",
			 what, strerror(-error), paranoia(), lost);
	else if (error == -EPERM && memory.rlim_cur != RLIM_INFINITY)
		snprintf(line, BPF_RIGHTS_LINE_MAX, "%s: %s (RLIMIT_MEMLOCK is %llu KiB): %s", what,
			 strerror(-error), (unsigned long long)memory.rlim_cur / 1024, lost);
	else
		snprintf(line, BPF_RIGHTS_LINE_MAX, "%s: %s: %s", what, strerror(-error), lost);
}

void bpf_rights_raise_memory(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
}
