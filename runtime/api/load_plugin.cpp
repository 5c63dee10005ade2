// Loads shared libraries with operators.
#include <string.h>

#include "runtime/api/run_time_operator.h"
#include "runtime/api/trimtab.h"
#include "runtime/core/memory.h"

#if defined(_WIN32)
#include <windows.h>
#elif !TRIMTAB_STATIC
#include <dlfcn.h>
#endif

struct trimtab_library {
  void* handle;
  trimtab::Origin origin;
  char path[4096];
};

namespace {

using trimtab::Text;

#if !TRIMTAB_STATIC

constexpr size_t kFirstPluginBytes = offsetof(trimtab_plugin, operators) + sizeof(void*);

#if defined(_WIN32)

// The functions of dlfcn.h, of which Windows has the first three under other names.
constexpr int RTLD_NOW = 0, RTLD_LOCAL = 0;

void* dlopen(const char* path, int) { return LoadLibraryA(path); }

void* dlsym(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void dlclose(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

const char* dlerror() { return nullptr; }

#endif

// Opens a library with local symbols, all bound at once, so that a missing symbol is an error here
// and not during a run.
bool OpenLibrary(const char* path, trimtab_library* library, Text* why) {
  // dlopen would search the system's folders for a name without a slash.
  Text place(library->path, sizeof(library->path));
  if (strchr(path, '/') == nullptr) place.Add("./");
  place.Add(path);
  library->origin.name = library->path;
  library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
  if (library->handle != nullptr) return true;
  const char* const message = dlerror();
  why->Add(message != nullptr ? message : library->path);  // the message begins with the path
  return false;
}

bool RegisterAll(const trimtab_library& library, Text* why) {
  const auto entry =
      reinterpret_cast<trimtab_plugin_entry_function>(dlsym(library.handle, TRIMTAB_PLUGIN_ENTRY));
  if (entry == nullptr) {
    why->Add(library.path).Add(": has no " TRIMTAB_PLUGIN_ENTRY ", so it is no plug-in of trimtab");
    return false;
  }
  const trimtab_plugin* const plugin = entry(TRIMTAB_PLUGIN_ABI);
  if (plugin == nullptr || plugin->struct_size < kFirstPluginBytes ||
      plugin->abi != TRIMTAB_PLUGIN_ABI || plugin->operators == nullptr) {
    why->Add(library.path).Add(": is of another ABI (this engine has, it has): ");
    why->Add(int64_t{TRIMTAB_PLUGIN_ABI}).Add(", ");
    why->Add(plugin != nullptr ? int64_t{plugin->abi} : int64_t{0});
    return false;
  }
  for (const trimtab_operator* const* op = plugin->operators; *op != nullptr; ++op) {
    if (!trimtab::RegisterOperator(**op, library.origin, why)) return false;
  }
  return true;
}

void Close(trimtab_library* library) {
  trimtab::UnregisterOperators(library->origin);
  if (library->handle != nullptr) dlclose(library->handle);
  trimtab::UnmapMemory(library, sizeof(*library));
}

#endif

}  // namespace

int trimtab_register_operator(const trimtab_operator* op, char* why, size_t why_size) {
  static constexpr trimtab::Origin kProgram = {"this program"};
  Text text(why, why != nullptr ? why_size : 0);
  return trimtab::RegisterOperator(*op, kProgram, &text) ? TRIMTAB_OK : TRIMTAB_BAD_PLUGIN;
}

#if TRIMTAB_STATIC

int trimtab_load_plugin(const char* path, trimtab_library** library, char* why, size_t why_size) {
  Text(why, why != nullptr ? why_size : 0)
      .Add(path)
      .Add(
          ": a static binary cannot load plug-ins: build with a dynamic toolchain, or compile the "
          "operator in");
  if (library != nullptr) *library = nullptr;
  return TRIMTAB_STATIC_BINARY;
}

int trimtab_unload_plugin(trimtab_library* library) { return TRIMTAB_STATIC_BINARY; }

#else

int trimtab_load_plugin(const char* path, trimtab_library** library, char* why, size_t why_size) {
  Text text(why, why != nullptr ? why_size : 0);
  if (library != nullptr) *library = nullptr;
  auto* loaded = static_cast<trimtab_library*>(trimtab::MapMemory(sizeof(trimtab_library)));
  if (loaded == nullptr) return TRIMTAB_OUT_OF_MEMORY;
  if (!OpenLibrary(path, loaded, &text) || !RegisterAll(*loaded, &text)) {
    Close(loaded);
    return TRIMTAB_BAD_PLUGIN;
  }
  if (library != nullptr) *library = loaded;
  return TRIMTAB_OK;
}

int trimtab_unload_plugin(trimtab_library* library) {
  if (library == nullptr) return TRIMTAB_OK;
  if (trimtab::IsInUse(library->origin)) return TRIMTAB_BAD_ARGUMENT;
  Close(library);
  return TRIMTAB_OK;
}

#endif
