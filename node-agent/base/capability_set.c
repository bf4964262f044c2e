#include "capability_set.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

/* Some installed headers lack the newer numbers. */
#define DAC_READ_SEARCH    2u
#define SYS_PTRACE         19u
#define SYS_ADMIN          21u
#define PERFMON            38u
#define BPF                39u
#define CHECKPOINT_RESTORE 40u

#define BIT(capability) (1ull << (capability))

#define USERS  (BIT(BPF) | BIT(PERFMON))
#define OTHERS (BIT(SYS_PTRACE) | BIT(CHECKPOINT_RESTORE) | BIT(DAC_READ_SEARCH))

static const char *const names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};

#define NR_NAMES (sizeof(names) / sizeof(names[0]))

/* The layout of capget(2): the low half first. */
struct rights {
	uint64_t effective, permitted, inheritable;
};

static int get(struct rights *rights)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*rights = (struct rights){
		.effective = data[0].effective | (uint64_t)data[1].effective << 32,
		.permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
		.inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32,
	};
	return 0;
}

static int set_rights(const struct rights *rights)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{(uint32_t)rights->effective, (uint32_t)rights->permitted,
		 (uint32_t)rights->inheritable},
		{(uint32_t)(rights->effective >> 32), (uint32_t)(rights->permitted >> 32),
		 (uint32_t)(rights->inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static uint64_t ambient(void)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1)
			bits |= BIT(i);
	return bits;
}

void capability_set_choose(enum capability_role role, struct capability_set *set)
{
	struct rights rights = {0};
	uint64_t wanted = USERS;

	get(&rights);
	if (role == CAPABILITY_ROLE_COUNTERS)
		wanted = BIT(PERFMON) | BIT(SYS_ADMIN);
	if (role == CAPABILITY_ROLE_SITE)
		wanted |= OTHERS;
	/* The kernel lets no process inspect one with more capabilities (ptrace(2), access mode checking). */
	if (role == CAPABILITY_ROLE_JOB)
		wanted |= ambient();
	/* CAP_SYS_ADMIN includes the other capabilities, and some containers know no other name for them. */
	if (USERS & ~rights.permitted)
		wanted |= BIT(SYS_ADMIN);
	set->bits = wanted & rights.permitted;
}

void capability_set_add_admin(struct capability_set *set)
{
	struct rights rights = {0};

	get(&rights);
	set->bits |= BIT(SYS_ADMIN) & rights.permitted;
}

int capability_set_keep(const struct capability_set *set)
{
	struct rights rights;
	int r = get(&rights);

	if (r)
		return r;
	rights.permitted &= set->bits;
	rights.effective &= set->bits;
	rights.inheritable = 0; /* this also clears the ambient capabilities */
	r = set_rights(&rights);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		r = -errno;
	return r;
}

struct call {
	const struct capability_set *set;
	int (*function)(void *context);
	void *context;
	int result;
};

static void *run(void *argument)
{
	struct call *call = argument;

	call->result = capability_set_keep(call->set);
	if (call->result == 0)
		call->result = call->function(call->context);
	return NULL;
}

int capability_set_call(const struct capability_set *set, int (*function)(void *context),
			void *context)
{
	struct call call = {.set = set, .function = function, .context = context};
	pthread_t thread;
	int r = -pthread_create(&thread, NULL, run, &call);

	if (r)
		return r;
	pthread_join(thread, NULL);
	return call.result;
}

const char *capability_set_text(const struct capability_set *set,
				char text[static CAPABILITY_SET_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < NR_NAMES; i++)
		if (set->bits & BIT(i))
			used += (size_t)snprintf(text + used, CAPABILITY_SET_TEXT_MAX - used,
						 "%sCAP_%s", used ? ", " : "", names[i]);
	if (!used)
		snprintf(text, CAPABILITY_SET_TEXT_MAX, "no capabilities");
	return text;
}
