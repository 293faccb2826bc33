/* A main in C, as for other compilers: bupc_init, then functions of UPC. */
#include <stdio.h>
void bupc_init(int* argc, char*** argv);
void bupc_init_reentrant(int* argc, char*** argv, int (*program)(int, char**));
void bupc_exit(int status);
int upc_part(int argc);

static int program(int argc, char** argv) {
    (void)argv;
    return upc_part(argc);
}

int main(int argc, char** argv) {
    bupc_init(&argc, &argv);
    bupc_init_reentrant(&argc, &argv, program);
    printf("not reached\n");
    return 1;
}
