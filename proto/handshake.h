/* How a guest hands its memory to the agent: one SOCK_SEQPACKET exchange over the agent's Unix socket, after which both
 * sides close it. The guest keeps no descriptor, since an application may close or reuse every number it finds. In
 * these cases it keeps the memfd's, out of the application's way, and hands the same memory on:
 *   - The agent asks for it (HANDSHAKE_KEEP_RING). The next agent on this path gets the memory should this one's beat
 *     end (record_ring.h).
 *   - No answer came in time: the agent may have the memory.
 *   - The answer is HANDSHAKE_REFUSED_FULL: the agent may take the memory the next time.
 * The exchange:
 *	guest -> agent: struct guest_hello, with the memfd (record_ring.h) as SCM_RIGHTS
 *	agent -> guest: struct guest_welcome
 * Before its hello a guest makes an empty file in the directory PATH.offers, if there is one, whose name is the hello
 * (offer_name.h). The agent removes the file before it answers for good, also when it hears of an absence. An agent
 * that starts finds there the offers that the agent before it did not read.
 * The agent trusts only SO_PEERCRED for who speaks, and the file system for whose a file is. Plain data. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <assert.h>
#include <stdint.h>

#define HANDSHAKE_MAGIC         0x46474d48u /* "FGMH" */
#define HANDSHAKE_ABSENCE_MAGIC 0x46474d41u /* "FGMA" */
#define HANDSHAKE_VERSION       2u
#define HANDSHAKE_SOCKET_ENV    "FLAMEGRID_SOCKET" /* path of the agent's socket */
#define HANDSHAKE_RUN_ENV       "FLAMEGRID_RUN"    /* a decimal number */
#define HANDSHAKE_INSTANCE_SIZE 16
#define HANDSHAKE_OFFERS        ".offers" /* behind the socket's path */

struct guest_hello {
	uint32_t magic, version;
	uint32_t pid; /* as the guest sees itself */
	uint32_t run; /* which `flamegrid run --agent` it belongs to, HANDSHAKE_RUN_ENV; 0: none */
	uint64_t start_ticks;                      /* field 22 of /proc/self/stat: exec keeps it */
	uint64_t pid_namespace;                    /* inode of /proc/self/ns/pid, 0: not known */
	uint8_t instance[HANDSHAKE_INSTANCE_SIZE]; /* random: exec keeps pid and start time, the
						      next agent hears the same */
};

/* In place of the above, by a guest that has no memory to hand over; the agent closes without an answer:
 *	guest -> agent: struct guest_absence */
struct guest_absence {
	uint32_t magic, version; /* HANDSHAKE_ABSENCE_MAGIC */
	uint32_t pid;            /* as the guest sees itself, as all below */
	uint32_t error;          /* errno of what failed */
	uint64_t start_ticks, pid_namespace;
	uint8_t instance[HANDSHAKE_INSTANCE_SIZE];
	uint32_t run, reserved; /* as in struct guest_hello; 0 */
	uint64_t file_limit_bytes,
		memory_limit_bytes; /* RLIMIT_FSIZE, RLIMIT_AS; UINT64_MAX: none */
};

enum handshake_status {
	HANDSHAKE_OK = 0,
	HANDSHAKE_REFUSED_VERSION = 1,
	HANDSHAKE_REFUSED_USER = 2,
	HANDSHAKE_REFUSED_RING = 3, /* no memfd, seals missing, or a layout that makes no sense */
	HANDSHAKE_REFUSED_FULL = 4, /* too many processes, just now */
};

enum handshake_flags {
	HANDSHAKE_KEEP_RING = 1u << 0, /* the agent may be started again while the guest runs */
};

struct guest_welcome {
	uint32_t magic, version;
	uint32_t
		status; /* enum handshake_status; other than OK and FULL: the guest switches itself off */
	uint32_t window;   /* number of the first capture window, from 1 */
	uint32_t flags;    /* enum handshake_flags */
	uint32_t reserved; /* 0 */
};

static_assert(sizeof(struct guest_hello) == 48, "handshake format");
static_assert(sizeof(struct guest_welcome) == 24, "handshake format");
static_assert(sizeof(struct guest_absence) == 72, "handshake format");

#endif
