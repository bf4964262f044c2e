/* Computes the keys of communicators (proto/collective.h) in BPF programs. */
#ifndef COLLECTIVE_KEY_H
#define COLLECTIVE_KEY_H

#include "sample_maps.h"

#include "proto/collective.h"

static __always_inline __u64 known_key(__u64 hash)
{
	return hash ? hash : 1;
}

static __always_inline __u64 hash_number(__u64 hash, __u64 number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		hash = (hash ^ ((number >> 8 * i) & 0xff)) * COLLECTIVE_HASH_PRIME;
	return hash;
}

/* Hashes the bytes of a unique id. */
static __always_inline __u64 unique_id_hash(const __u8 *bytes)
{
	__u64 hash = COLLECTIVE_HASH_START;

	for (__u32 i = 0; i < COLLECTIVE_UNIQUE_ID_SIZE; i++)
		hash = (hash ^ bytes[i]) * COLLECTIVE_HASH_PRIME;
	return known_key(hash);
}

static __always_inline __u64 split_key(__u64 parent_key, __s32 color, __u32 split)
{
	__u64 hash = hash_number(COLLECTIVE_HASH_START, parent_key, 8);

	if (!parent_key)
		return 0;
	hash = hash_number(hash, (__u32)color, 4);
	return known_key(hash_number(hash, split, 4));
}

static __always_inline __u64 own_key(__u64 boot_key, const struct sample_event *event, __u64 now_ns)
{
	__u64 hash = hash_number(COLLECTIVE_HASH_START, boot_key, 8);

	hash = hash_number(hash, event->process_start, 8);
	hash = hash_number(hash, event->pid, 4);
	return known_key(hash_number(hash, now_ns, 8));
}

#endif
