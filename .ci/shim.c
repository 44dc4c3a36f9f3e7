// What Python loads for a compiled module: it finds the module in the library that holds them all.
// One file serves every module, as Python says which it wants; compile.py puts before this the
// name of the LIBRARY, and after it a WAY_IN for the last part of each module's name.
#include <Python.h>

// attribute_of: what is stored under a name in the library as a capsule, or NULL with an error.
static void *attribute_of(PyObject *library, const char *attribute)
{
    PyObject *name = PyUnicode_FromFormat("%s.%s", LIBRARY, attribute);
    PyObject *capsule = name ? PyObject_GetAttrString(library, attribute) : NULL;
    void *found = capsule ? PyCapsule_GetPointer(capsule, PyUnicode_AsUTF8(name)) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(name);
    return found;
}

// ensure_others: let the library find the libraries that it calls.
static int ensure_others(PyObject *library)
{
    int (*ensure)(void) = (int (*)(void))attribute_of(library, "ensure_deps");
    if (ensure != NULL)
        return ensure();
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();  // it calls none
    return 0;
}

static PyObject *module_in(PyObject *library, PyObject *spec)
{
    PyObject *name = PyObject_GetAttrString(spec, "name");
    PyObject *words = name ? PyObject_CallMethod(name, "replace", "ss", ".", "___") : NULL;
    PyObject *attribute = words ? PyUnicode_FromFormat("init_%U", words) : NULL;
    const char *text = attribute ? PyUnicode_AsUTF8(attribute) : NULL;
    PyObject *(*init)(void) = text ? (PyObject *(*)(void))attribute_of(library, text) : NULL;
    Py_XDECREF(attribute);
    Py_XDECREF(words);
    Py_XDECREF(name);
    return init ? init() : NULL;
}

static PyObject *create(PyObject *spec, PyModuleDef *Py_UNUSED(definition))
{
    // With a list of names Python returns the module itself, though its package is not ready yet.
    PyObject *names = Py_BuildValue("(s)", "*");
    PyObject *library = names ? PyImport_ImportModuleLevel(LIBRARY, NULL, NULL, names, 0) : NULL;
    PyObject *module = NULL;
    if (library != NULL && ensure_others(library) == 0)
        module = module_in(library, spec);
    Py_XDECREF(library);
    Py_XDECREF(names);
    return module;
}

static PyModuleDef_Slot slots[] = {{Py_mod_create, (void *)create}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = LIBRARY, .m_slots = slots,
};

#define WAY_IN(name) PyMODINIT_FUNC PyInit_##name(void) { return PyModuleDef_Init(&definition); }
