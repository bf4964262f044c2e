/* Under which name the input of symbol_cache_fuzz lies in its cache. */
#ifndef SYMBOL_CACHE_ID_H
#define SYMBOL_CACHE_ID_H

#define SYMBOL_CACHE_ID_OWNER 1000u
#define SYMBOL_CACHE_ID_SIZE  4u
#define SYMBOL_CACHE_ID                                                                                                    \
	{                                                                                                                  \
		0xab, 0xcd, 0xef, 0x01                                                                                     \
	}
#define SYMBOL_CACHE_ID_FILE "abcdef01-1000.symbols"

#endif
