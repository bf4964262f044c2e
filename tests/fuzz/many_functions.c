/* 256 functions, for elf_fuzz. */
#define FUNCTION(number)                                                                                                   \
	int many_##number(int value);                                                                                      \
	int many_##number(int value)                                                                                       \
	{                                                                                                                  \
		return value * __COUNTER__;                                                                                \
	}
#define FOUR(number)    FUNCTION(number##0) FUNCTION(number##1) FUNCTION(number##2) FUNCTION(number##3)
#define SIXTEEN(number) FOUR(number##0) FOUR(number##1) FOUR(number##2) FOUR(number##3)
#define MANY(number)    SIXTEEN(number##0) SIXTEEN(number##1) SIXTEEN(number##2) SIXTEEN(number##3)

MANY(a) MANY(b) MANY(c) MANY(d)
