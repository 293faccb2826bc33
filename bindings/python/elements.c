/*
 * lapwing._elements: the part of lapwing.Array that has to be fast. a[i, j] with integers is a load or a store where
 * the rank can reach the element, else a call of the library. a[1:3, ...] with slices that step forwards is one call of
 * the library. Every other index goes to the methods _get and _set, in Python. The module lies in the same file as the
 * library (lapwing._core_MPI), which it calls.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/* A name of NumPy 2, which hides the field. */
#if NPY_ABI_VERSION < 0x02000000
#define PyDataType_ELSIZE(type) ((type)->elsize)
#endif

#include <lapwing/lapwing.h>

#include <string.h>

typedef struct {
    PyObject_HEAD lapwing_array* array; /* null: closed */
    PyArray_Descr* type;
    int dimensions;
    int wraps;   /* whether -1 is the last index, as it is of arrays without lower bounds */
    int patches; /* whether slices are read and written here */
    int64_t extents[LAPWING_MAX_DIMENSIONS];
} Elements;

/* Whether `key` is one integer, and which: not for True and False, which are masks in NumPy. */
static int integer_of(PyObject* key, int64_t* value) {
    if (PyLong_CheckExact(key)) {
        *value = PyLong_AsLongLong(key);
        return *value != -1 || !PyErr_Occurred();
    }
    if (PyArray_IsScalar(key, Integer)) {
        PyObject* const number = PyNumber_Index(key);
        if (number == NULL) return 0;
        *value = PyLong_AsLongLong(number);
        Py_DECREF(number);
        return *value != -1 || !PyErr_Occurred();
    }
    return 0;
}

/* Whether `key` names one element. With an index that is no 64-bit number an exception is set. */
static int index_of(const Elements* self, PyObject* key, int64_t* index) {
    int d;
    if (PyTuple_CheckExact(key)) {
        if (PyTuple_GET_SIZE(key) != self->dimensions) return 0;
        for (d = 0; d < self->dimensions; ++d)
            if (!integer_of(PyTuple_GET_ITEM(key, d), &index[d])) return 0;
    } else if (self->dimensions != 1 || !integer_of(key, &index[0])) return 0;
    if (self->wraps)
        for (d = 0; d < self->dimensions; ++d)
            if (index[d] < 0 && index[d] >= -self->extents[d]) index[d] += self->extents[d];
    return 1;
}

static void* address_of(const Elements* self, const int64_t* index) {
    switch (self->dimensions) {
    case 1: return lapwing_array_address_1(self->array, index[0]);
    case 2: return lapwing_array_address_2(self->array, index[0], index[1]);
    case 3: return lapwing_array_address_3(self->array, index[0], index[1], index[2]);
    default: return NULL;
    }
}

/* A rectangle of elements, and the shape that NumPy gives it. */
typedef struct {
    lapwing_range ranges[LAPWING_MAX_DIMENSIONS];
    npy_intp shape[LAPWING_MAX_DIMENSIONS];
    int dimensions;
    int empty;
} Patch;

static void add_slice(Patch* patch, int d, Py_ssize_t first, Py_ssize_t size, Py_ssize_t step) {
    patch->ranges[d].first = first;
    patch->ranges[d].size = (uint64_t)size;
    patch->ranges[d].stride = step;
    patch->shape[patch->dimensions++] = size;
    patch->empty = patch->empty || size == 0;
}

/* Whether its parts are None or integers, so that reading them runs no code of the program's. */
static int is_plain_slice(const PySliceObject* slice) {
    PyObject* const parts[] = {slice->start, slice->stop, slice->step};
    int k;
    for (k = 0; k < 3; ++k)
        if (parts[k] != Py_None && !PyLong_CheckExact(parts[k])) return 0;
    return 1;
}

/* Whether `key` names a patch: slices that step forwards, of which there is at least one, integers within the array,
 * and one ellipsis at most. All else, errors included, is left to Python. */
static int patch_of(const Elements* self, PyObject* key, Patch* patch) {
    PyObject* const* parts = PyTuple_CheckExact(key) ? PySequence_Fast_ITEMS(key) : &key;
    const Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    Py_ssize_t k;
    int ellipsis = 0;
    int d = 0;
    if (self->array == NULL || !self->patches) return 0;
    patch->dimensions = patch->empty = 0;
    for (k = 0; k < count; ++k) ellipsis += parts[k] == Py_Ellipsis;
    if (ellipsis > 1 || count - ellipsis > self->dimensions) return 0;
    for (k = 0; k < count; ++k) {
        PyObject* const part = parts[k];
        if (part == Py_Ellipsis) {
            const int end = self->dimensions - (int)(count - k - 1);
            for (; d < end; ++d) add_slice(patch, d, 0, self->extents[d], 1);
            continue;
        }
        if (PySlice_Check(part)) {
            Py_ssize_t first, end, step, size;
            if (!is_plain_slice((PySliceObject*)part)) return 0;
            if (PySlice_Unpack(part, &first, &end, &step) < 0) {
                PyErr_Clear(); /* a step of 0, which Python reports */
                return 0;
            }
            if (step < 0) return 0;
            size = PySlice_AdjustIndices(self->extents[d], &first, &end, step);
            add_slice(patch, d, first, size, step);
        } else {
            int64_t index = 0;
            if (!integer_of(part, &index)) {
                PyErr_Clear(); /* not of 64 bits */
                return 0;
            }
            if (index < 0) index += self->extents[d];
            if (index < 0 || index >= self->extents[d]) return 0;
            patch->ranges[d].first = index;
            patch->ranges[d].size = 1;
            patch->ranges[d].stride = 1;
        }
        ++d;
    }
    for (; d < self->dimensions; ++d) add_slice(patch, d, 0, self->extents[d], 1);
    return patch->dimensions > 0;
}

/* Whether `array` is contiguous and has the elements of a patch. */
static int fits(const Elements* self, PyArrayObject* array, const Patch* patch) {
    return PyArray_IS_C_CONTIGUOUS(array) && PyArray_NDIM(array) == patch->dimensions &&
           PyArray_CompareLists(PyArray_DIMS(array), patch->shape, patch->dimensions) &&
           PyArray_EquivTypes(PyArray_DESCR(array), self->type);
}

/* The exception of a code; always NULL. */
static PyObject* raise_code(PyObject* self, int code) {
    PyObject* const result = PyObject_CallMethod(self, "_raise", "i", code);
    Py_XDECREF(result);
    return NULL;
}

/* Without the interpreter's lock; returns the library's code. */
static int move_patch(lapwing_array* array, const Patch* patch, void* memory, int put) {
    int code = LAPWING_SUCCESS;
    if (patch->empty) return code;
    Py_BEGIN_ALLOW_THREADS;
    code = put ? lapwing_array_put(array, patch->ranges, memory, NULL)
               : lapwing_array_get(array, patch->ranges, memory, NULL);
    Py_END_ALLOW_THREADS;
    return code;
}

/* Reads a patch to `array`, which is given up if that fails. */
static PyObject* read_patch(PyObject* object, const Patch* patch, PyObject* array) {
    const int code = move_patch(((Elements*)object)->array, patch, PyArray_DATA((PyArrayObject*)array), 0);
    if (code == LAPWING_SUCCESS) return array;
    Py_DECREF(array);
    return raise_code(object, code);
}

/* A patch in a new array. */
static PyObject* new_patch(PyObject* object, const Patch* patch) {
    PyArray_Descr* const type = ((Elements*)object)->type;
    PyObject* result;
    Py_INCREF(type);
    result = PyArray_NewFromDescr(&PyArray_Type, type, patch->dimensions, (npy_intp*)patch->shape, NULL, NULL, 0, NULL);
    return result == NULL ? NULL : read_patch(object, patch, result);
}

/* _get_into(key, out): out, or a new array for None; NotImplemented where that takes Python. */
static PyObject* elements_get_into(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
    Elements* const self = (Elements*)object;
    PyObject* const out = count == 2 ? arguments[1] : Py_None;
    Patch patch;
    if (out == Py_None && patch_of(self, arguments[0], &patch)) return new_patch(object, &patch);
    if (!PyArray_CheckExact(out) || !patch_of(self, arguments[0], &patch) ||
        !PyArray_ISWRITEABLE((PyArrayObject*)out) || !fits(self, (PyArrayObject*)out, &patch))
        Py_RETURN_NOTIMPLEMENTED;
    Py_INCREF(out);
    return read_patch(object, &patch, out);
}

static PyObject* elements_get(PyObject* object, PyObject* key) {
    Elements* const self = (Elements*)object;
    int64_t index[LAPWING_MAX_DIMENSIONS];
    /* Larger elements are structures of the program's. */
    double small[32];
    void* memory;
    void* own = NULL;
    PyObject* result;
    int code;
    if (self->array == NULL || !index_of(self, key, index)) {
        Patch patch;
        if (PyErr_Occurred()) return NULL;
        if (patch_of(self, key, &patch)) return new_patch(object, &patch);
        return PyObject_CallMethod(object, "_get", "(O)", key);
    }
    memory = address_of(self, index);
    if (memory == NULL) {
        lapwing_array* const array = self->array;
        memory = small;
        if ((size_t)PyDataType_ELSIZE(self->type) > sizeof small) {
            memory = own = PyMem_Malloc((size_t)PyDataType_ELSIZE(self->type));
            if (memory == NULL) return PyErr_NoMemory();
        }
        Py_BEGIN_ALLOW_THREADS code = lapwing_array_get_element(array, index, memory);
        Py_END_ALLOW_THREADS if (code != LAPWING_SUCCESS) {
            PyMem_Free(own);
            return raise_code(object, code);
        }
    }
    result = PyArray_Scalar(memory, self->type, NULL);
    PyMem_Free(own);
    return result;
}

/* The end of the last NumPy array that shows the memory: without the interpreter's lock, like any call. */
static void free_mapped(PyObject* capsule) {
    lapwing_mapped* mapped = PyCapsule_GetPointer(capsule, NULL);
    Py_BEGIN_ALLOW_THREADS;
    lapwing_mapped_free(&mapped);
    Py_END_ALLOW_THREADS;
}

/* _map(): all elements as a read-only array of memory that is mapped now, and given back with the last view of it. */
static PyObject* elements_map(PyObject* object, PyObject* unused) {
    Elements* const self = (Elements*)object;
    /* Other threads may change the object, but not what has been mapped. */
    lapwing_array* const array = self->array;
    const int dimensions = self->dimensions;
    PyArray_Descr* const type = self->type;
    lapwing_mapped* mapped = NULL;
    const void* memory = NULL;
    lapwing_range ranges[LAPWING_MAX_DIMENSIONS];
    npy_intp shape[LAPWING_MAX_DIMENSIONS];
    PyObject* owner;
    PyObject* result;
    int code;
    int d;
    (void)unused;
    Py_INCREF(type);
    Py_BEGIN_ALLOW_THREADS;
    code = lapwing_mapped_create(array, NULL, &mapped);
    if (code == LAPWING_SUCCESS) code = lapwing_mapped_view(mapped, &memory, NULL, ranges);
    if (code != LAPWING_SUCCESS && mapped != NULL) lapwing_mapped_free(&mapped);
    Py_END_ALLOW_THREADS;
    if (code != LAPWING_SUCCESS) {
        Py_DECREF(type);
        return raise_code(object, code);
    }
    owner = PyCapsule_New(mapped, NULL, free_mapped);
    if (owner == NULL) {
        lapwing_mapped_free(&mapped);
        Py_DECREF(type);
        return NULL;
    }
    for (d = 0; d < dimensions; ++d) shape[d] = (npy_intp)ranges[d].size;
    /* Takes the type. Without elements there is no memory, and NumPy takes a little. */
    result = PyArray_NewFromDescr(&PyArray_Type, type, dimensions, shape, NULL, (void*)(uintptr_t)memory,
                                  memory == NULL ? 0 : NPY_ARRAY_CARRAY_RO, NULL);
    if (result == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    PyArray_CLEARFLAGS((PyArrayObject*)result, NPY_ARRAY_WRITEABLE);
    PyArray_UpdateFlags((PyArrayObject*)result, NPY_ARRAY_ALIGNED);
    if (PyArray_SetBaseObject((PyArrayObject*)result, owner) == 0) return result; /* takes the owner in any case */
    Py_DECREF(result);
    return NULL;
}

/* Writes a Python number as an element; 0 where that takes NumPy's conversion. */
static int number_to(const Elements* self, PyObject* value, void* memory) {
    double x;
    if (self->type->type_num == NPY_DOUBLE && PyArray_ISNBO(self->type->byteorder)) {
        if (!PyFloat_Check(value) && !PyLong_CheckExact(value)) return 0;
        x = PyFloat_AsDouble(value);
        if (x == -1.0 && PyErr_Occurred()) return 0;
        memcpy(memory, &x, sizeof x);
        return 1;
    }
    if (self->type->type_num == NPY_LONG && PyArray_ISNBO(self->type->byteorder) && PyLong_CheckExact(value)) {
        const long n = PyLong_AsLong(value);
        if (n == -1 && PyErr_Occurred()) return 0;
        memcpy(memory, &n, sizeof n);
        return 1;
    }
    return 0;
}

static int elements_set(PyObject* object, PyObject* key, PyObject* value) {
    Elements* const self = (Elements*)object;
    int64_t index[LAPWING_MAX_DIMENSIONS];
    double element;
    Patch patch;
    PyObject* result;
    void* memory;
    int code = LAPWING_SUCCESS;
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of a lapwing.Array cannot be deleted");
        return -1;
    }
    if (PyArray_CheckExact(value) && patch_of(self, key, &patch) && fits(self, (PyArrayObject*)value, &patch)) {
        code = move_patch(self->array, &patch, PyArray_DATA((PyArrayObject*)value), 1);
        if (code == LAPWING_SUCCESS) return 0;
        raise_code(object, code);
        return -1;
    }
    if (self->array == NULL || !index_of(self, key, index) || !number_to(self, value, &element)) {
        if (PyErr_Occurred()) return -1;
        result = PyObject_CallMethod(object, "_set", "(OO)", key, value);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    memory = address_of(self, index);
    if (memory != NULL && ((const lapwing_array_head*)(const void*)self->array)->writable) {
        memcpy(memory, &element, sizeof element);
        return 0;
    }
    {
        lapwing_array* const array = self->array;
        Py_BEGIN_ALLOW_THREADS code = lapwing_array_put_element(array, index, &element);
        Py_END_ALLOW_THREADS
    }
    if (code == LAPWING_SUCCESS) return 0;
    raise_code(object, code);
    return -1;
}

static PyObject* elements_bind(PyObject* object, PyObject* arguments) {
    Elements* const self = (Elements*)object;
    unsigned long long address = 0;
    PyArray_Descr* type = NULL;
    PyObject* extents = NULL;
    int wraps = 1;
    int patches = 1;
    Py_ssize_t d;
    if (!PyArg_ParseTuple(arguments, "KO&O!pp", &address, PyArray_DescrConverter, &type, &PyTuple_Type, &extents,
                          &wraps, &patches))
        return NULL;
    if (PyTuple_GET_SIZE(extents) > LAPWING_MAX_DIMENSIONS) {
        Py_DECREF(type);
        PyErr_SetString(PyExc_ValueError, "too many dimensions");
        return NULL;
    }
    for (d = 0; d < PyTuple_GET_SIZE(extents); ++d) {
        self->extents[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(extents, d));
        if (PyErr_Occurred()) {
            Py_DECREF(type);
            return NULL;
        }
    }
    self->dimensions = (int)PyTuple_GET_SIZE(extents);
    self->wraps = wraps;
    self->patches = patches;
    Py_XSETREF(self->type, type);
    self->array = (lapwing_array*)(uintptr_t)address;
    Py_RETURN_NONE;
}

static PyObject* elements_unbind(PyObject* object, PyObject* unused) {
    (void)unused;
    ((Elements*)object)->array = NULL;
    Py_RETURN_NONE;
}

static void elements_free(PyObject* object) {
    Py_CLEAR(((Elements*)object)->type);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef elements_methods[] = {
    {"_bind", elements_bind, METH_VARARGS,
     "_bind(address, dtype, extents, wraps, patches): elements of this lapwing_array."},
    {"_get_into", (PyCFunction)(void (*)(void))elements_get_into, METH_FASTCALL,
     "_get_into(key, out): a patch into an array, or NotImplemented."},
    {"_map", elements_map, METH_NOARGS, "_map(): all elements, mapped, as a read-only array."},
    {"_unbind", elements_unbind, METH_NOARGS, "_unbind(): of none any more."},
    {NULL, NULL, 0, NULL}};
static PyMappingMethods elements_mapping = {NULL, elements_get, elements_set};
static PyTypeObject elements_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lapwing._elements.Elements",
    .tp_basicsize = sizeof(Elements),
    .tp_dealloc = elements_free,
    .tp_as_mapping = &elements_mapping,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "Reads and writes elements and patches.",
    .tp_methods = elements_methods,
    .tp_new = PyType_GenericNew,
};
static struct PyModuleDef elements_module = {
    PyModuleDef_HEAD_INIT, "_elements", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__elements(void);
PyMODINIT_FUNC PyInit__elements(void) {
    PyObject* module;
    import_array();
    if (PyType_Ready(&elements_type) < 0) return NULL;
    module = PyModule_Create(&elements_module);
    if (module == NULL) return NULL;
    Py_INCREF(&elements_type);
    if (PyModule_AddObject(module, "Elements", (PyObject*)&elements_type) < 0) {
        Py_DECREF(&elements_type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
