/* How a guest offers its ring to the agent: one SOCK_SEQPACKET exchange over the agent's Unix socket. Then both sides
 * close the socket.
 *	guest -> agent: struct guest_hello, with the memfd (record_ring.h) as SCM_RIGHTS
 *	agent -> guest: struct guest_welcome; with HANDSHAKE_OK maybe a memfd (unwind/table_arena.h) as SCM_RIGHTS
 *
 * Normally the guest closes the memfd, because an application may close or reuse every descriptor that it finds. In
 * three cases the guest keeps the memfd, at a high number, and offers the ring again:
 *   - The agent asks for it (HANDSHAKE_KEEP_RING). The next agent on this path gets the ring when the beat of this one
 *     ends (record_ring.h).
 *   - No answer came in time. The agent may have the ring or not.
 *   - The answer is HANDSHAKE_REFUSED_FULL. The agent may take the ring the next time.
 *
 * Before its hello a guest makes an empty file in the directory PATH.offers, if that exists. It also does so where
 * nobody listens on the socket, because the agent was killed. The file's name is the hello (offer_name.h). The agent
 * removes the file before it answers for good, and when it hears of an absence. An agent that starts finds there the
 * offers that the agent before it did not read.
 *
 * The agent identifies the guest by SO_PEERCRED, and an offer's user by the owner of its file. Plain data. */
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
	uint32_t
		run; /* number of the `flamegrid run --agent` that started it, HANDSHAKE_RUN_ENV; 0: none */
	uint64_t start_ticks;   /* field 22 of /proc/self/stat: exec keeps it */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0: not known */
	/* random, because exec keeps pid and start time; the next agent gets the same */
	uint8_t instance[HANDSHAKE_INSTANCE_SIZE];
};

/* A guest that could not make a ring sends this in place of the hello. The agent closes without an answer. */
struct guest_absence {
	uint32_t magic, version; /* HANDSHAKE_ABSENCE_MAGIC */
	uint32_t pid;            /* this and all below: as the guest sees itself */
	uint32_t error;          /* errno of what failed */
	uint64_t start_ticks, pid_namespace;
	uint8_t instance[HANDSHAKE_INSTANCE_SIZE];
	uint32_t run;        /* as in struct guest_hello */
	uint32_t needed_mib; /* what the limit that is too low must be at least; 0: not known */
	uint64_t file_limit_bytes;   /* RLIMIT_FSIZE; UINT64_MAX: none */
	uint64_t memory_limit_bytes; /* RLIMIT_AS; UINT64_MAX: none */
};

enum handshake_status {
	HANDSHAKE_OK = 0,
	HANDSHAKE_REFUSED_VERSION = 1,
	HANDSHAKE_REFUSED_USER = 2,
	HANDSHAKE_REFUSED_RING = 3, /* no memfd, no seals, or a layout that no guest makes */
	HANDSHAKE_REFUSED_FULL = 4, /* the agent has too many processes at present */
};

enum handshake_flags {
	HANDSHAKE_KEEP_RING = 1u << 0, /* the agent may be started again while the guest runs */
};

struct guest_welcome {
	uint32_t magic, version;
	/* enum handshake_status; the guest switches itself off at any value but OK and REFUSED_FULL */
	uint32_t status;
	uint32_t window;   /* number of the first capture window, from 1 */
	uint32_t flags;    /* enum handshake_flags */
	uint32_t reserved; /* 0 */
};

static_assert(sizeof(struct guest_hello) == 48, "handshake format");
static_assert(sizeof(struct guest_welcome) == 24, "handshake format");
static_assert(sizeof(struct guest_absence) == 72, "handshake format");

#endif
