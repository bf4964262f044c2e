/* The keys of one aggregator and of its agents, and the files that hold them. There are two CURVE pairs (ZeroMQ RFC
 * 26): the aggregator's, and one that all its agents share. An agent's file proves to each side that the other one is
 * the right one; without it nobody can send. Where munge says who a user is, the aggregator's public key is enough: a
 * user's connection makes a pair of its own, and proves whose it is. Pure but for files; any thread. */
#ifndef KEY_SET_H
#define KEY_SET_H

#include <stdbool.h>
#include <stdio.h>

#define KEY_SET_TEXT  41u /* a key of 32 bytes in Z85 (ZeroMQ RFC 32), with its NUL */
#define KEY_SET_PROOF 96u /* bytes of key_set_proof() with its NUL, and more */

enum key_role {
	KEY_ROLE_AGGREGATOR, /* has the aggregator's pair and the agents' public key */
	KEY_ROLE_AGENT,      /* has the agents' pair and the aggregator's public key */
	KEY_ROLE_PUBLIC,     /* has the aggregator's public key alone, which is no secret */
};

struct key_set { /* "": not there */
	char server_public[KEY_SET_TEXT], server_secret[KEY_SET_TEXT];
	char client_public[KEY_SET_TEXT], client_secret[KEY_SET_TEXT];
};

/* Returns whether the text has the form of a key. */
bool key_set_is_key(const char *text);

/* Returns whether the set has all keys of that role, each in a key's form. With more keys it does not serve
 * KEY_ROLE_PUBLIC. */
bool key_set_serves(const struct key_set *keys, enum key_role role);

/* Takes one line of a file (key_file.h). 0; -ENOENT: no key has that name; -EINVAL: the value is not a key, or the file
 * has the key twice; *why says which (static storage). */
int key_set_take(struct key_set *keys, const char *name, const char *value, const char **why);

/* Reads a file of key_set_write(), by the rules of key_file.h. 0 or -errno: -EPERM: somebody else owns it or can read
 * it; -EINVAL: a bad line, or a key of that role is missing. On error *keys is empty, and *error is one line that says
 * what is wrong and where; the caller owns it (free(); NULL: out of memory). */
int key_set_read(const char *path, enum key_role role, struct key_set *keys, char **error);

/* Reads an agent's file by the same rules, but a file of root may be readable by its group: root lets that group
 * send. A file that has the aggregator's public key alone may be readable by everybody; *keys then serves
 * KEY_ROLE_PUBLIC. */
int key_set_read_shared(const char *path, struct key_set *keys, char **error);

/* Writes the keys of that role alone into a new file that only this user can read (0600; KEY_ROLE_PUBLIC: everybody,
 * 0644). 0; -EEXIST: path exists, and stays as it is; other -errno: no file is left. */
int key_set_write(const char *path, enum key_role role, const struct key_set *keys);

/* Writes the same lines to an open file. */
void key_set_print(const struct key_set *keys, enum key_role role, FILE *file);

/* Writes the text over which a user's munge credential is made: it proves whose the client's key is, to the aggregator
 * with this server's key and to no other one. Both are in a key's form. */
void key_set_proof(const char *server_public, const char *client_public,
		   char text[static KEY_SET_PROOF]);

#endif
