#include "python/autograd/mirror.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "autograd/graph/ownership.h"
#include "python/autograd/autograd_internal.h"
#include "python/base/type_object.h"

namespace flambeau::python {

using autograd::Node;

namespace {

PyTypeObject* image_type = nullptr;
PyObject* get_objects = nullptr;  // gc.get_objects

/// What stands for a C++ object. Of something that nodes share (hooks), `node` is one of these.
struct Image {
  PyObject_HEAD const TensorImpl* tensor;
  const Node* node;
  const void* shared;
  Py_ssize_t references;  ///< that the object has, without the mirror's own
};

Image* cast(PyObject* object) { return reinterpret_cast<Image*>(object); }

/// All images, and the references that keep what they show alive.
class Mirror {
 public:
  Mirror() = default;
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  /// Images vanish, apart from those that somebody found meanwhile: these show nothing any more.
  ~Mirror() {
    for (const auto& [object, image] : images_) {
      image->tensor = nullptr;
      image->node = nullptr;
      const Py_ssize_t found = Py_REFCNT(image) - image->references;
      Py_SET_REFCNT(reinterpret_cast<PyObject*>(image), found + 1);
      Py_DECREF(image);
    }
  }

  void add(const TensorImpl& tensor) {
    if (images_.contains(&tensor)) return;
    tensors_.emplace_back(const_cast<TensorImpl*>(&tensor));
    make(&tensor, {&tensor, nullptr, nullptr}, tensor.use_count() - 1);
  }
  void add(const Node& node) {
    if (images_.contains(&node)) return;
    nodes_.emplace_back(const_cast<Node*>(&node));
    make(&node, {nullptr, &node, nullptr}, node.use_count() - 1);
  }
  void add_shared(const void* owner, const Node& holder, long references) {
    if (!images_.contains(owner)) make(owner, {nullptr, &holder, owner}, references);
  }
  PyObject* find(const void* object) const {
    const auto found = images_.find(object);
    return found == images_.end() ? nullptr : reinterpret_cast<PyObject*>(found->second);
  }
  /// Adds what the objects lead to.
  void complete();

 private:
  struct Shown {
    const TensorImpl* tensor;
    const Node* node;
    const void* shared;
  };
  void make(const void* object, Shown shown, Py_ssize_t references) {
    const auto place = images_.emplace(object, nullptr).first;
    auto* image = PyObject_GC_New(Image, image_type);
    if (!image) {
      images_.erase(place);
      throw_python_error();
    }
    place->second = image;
    image->tensor = shown.tensor;
    image->node = shown.node;
    image->shared = shown.shared;
    image->references = references;
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(image), references);
    PyObject_GC_Track(image);
  }

  std::vector<Ref<TensorImpl>> tensors_;  // destroyed after the images
  std::vector<Ref<Node>> nodes_;
  std::unordered_map<const void*, Image*> images_;
};

std::unique_ptr<Mirror> mirror;

// Making it -------------------------------------------------------------------------------------

/// Gives images to what an object refers to.
struct Completion final : autograd::HeldVisitor {
  explicit Completion(Mirror& result) : all(result) {}
  void tensor(const Tensor& held) override {
    // Others hold nothing.
    if (held.defined() && (held.impl()->autograd || held.impl()->owns_python_object)) {
      all.add(*held.impl());
    }
  }
  void node(const Node* held) override {
    if (held) all.add(*held);
  }
  void object(void*) override {}
  void shared(const void* owner, long references, std::span<void* const>) override {
    if (holder && references > 1) all.add_shared(owner, *holder, references);
  }
  Mirror& all;
  const Node* holder = nullptr;
};

void Mirror::complete() {
  Completion completion(*this);
  for (size_t tensors = 0, nodes = 0; tensors < tensors_.size() || nodes < nodes_.size();) {
    if (tensors < tensors_.size()) {
      completion.holder = nullptr;
      autograd::visit_references(*tensors_[tensors++], completion);
    } else {
      completion.holder = nodes_[nodes].get();
      autograd::visit_references(*nodes_[nodes++], completion);
    }
  }
}

/// Whether what the tensor leads to may lead back: it has attributes, a hook, or a .grad that has a
/// graph itself. Hooks on results, and contexts, are among the held objects.
bool may_close_cycle(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->dict ||
         autograd::may_own_itself(*unwrap(object).impl());
}

/// Null where there are no cycles to find.
std::unique_ptr<Mirror> make_mirror() {
  const PyRef objects = checked(PyObject_CallNoArgs(get_objects));
  auto made = std::make_unique<Mirror>();
  std::vector<const TensorImpl*> tensors;
  std::vector<const Node*> nodes;
  bool needed = held_objects > 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects.get()); ++i) {
    PyObject* object = PyList_GET_ITEM(objects.get(), i);
    // Most are of builtin types: a quick look is enough.
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    if (is_tensor(object)) {
      if (!unwrap(object).defined()) continue;
      tensors.push_back(unwrap(object).impl());
      needed = needed || may_close_cycle(object);
    } else if (const Node* node = node_behind(object)) {
      nodes.push_back(node);
      needed = true;
    }
  }
  if (!needed) return nullptr;
  for (const TensorImpl* tensor : tensors) made->add(*tensor);
  for (const Node* node : nodes) made->add(*node);
  made->complete();
  return made;
}

// What images tell ------------------------------------------------------------------------------

/// Passes references on to the collector.
struct Telling final : autograd::HeldVisitor {
  Telling(visitproc collector, void* argument) : visit(collector), arg(argument) {}
  void tensor(const Tensor& held) override {
    if (held.defined()) tell(mirror->find(held.impl()));
  }
  void node(const Node* held) override { tell(mirror->find(held)); }
  void object(void* held) override { tell(held); }
  void shared(const void* owner, long references, std::span<void* const> held) override {
    if (references == 1) {
      for (void* each : held) tell(each);
    } else if (PyObject* image = mirror->find(owner);
               image && cast(image)->references == references) {
      tell(image);
    }
  }
  void tell(void* found) {
    if (found && status == 0) status = visit(static_cast<PyObject*>(found), arg);
  }
  visitproc visit;
  void* arg;
  int status = 0;
};

/// The objects behind something that several nodes share, as one of these has it.
struct TellingShared final : autograd::HeldVisitor {
  explicit TellingShared(const Image& shown, Telling& telling) : image(shown), result(telling) {}
  void tensor(const Tensor&) override {}
  void node(const Node*) override {}
  void object(void*) override {}
  void shared(const void* owner, long references, std::span<void* const> held) override {
    if (done || owner != image.shared || references != image.references) return;
    done = true;
    for (void* each : held) result.tell(each);
  }
  const Image& image;
  Telling& result;
  bool done = false;
};

/// Whether the collector may count on the image: code that ran since (a finalizer) may have taken
/// references to the object, which nobody tells of.
bool is_true(const Image& image) {
  if (!mirror || detail::released_threads > 0) return false;
  if (image.shared) return image.node != nullptr;
  if (!image.tensor && !image.node) return false;
  const uint32_t now = image.tensor ? image.tensor->use_count() : image.node->use_count();
  return static_cast<Py_ssize_t>(now) - 1 <= image.references;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Image& image = *cast(self);
  if (!is_true(image)) return 0;
  Telling telling(visit, arg);
  if (image.shared) {
    TellingShared shared(image, telling);
    autograd::visit_references(*image.node, shared);
  } else if (image.node) {
    autograd::visit_references(*image.node, telling);
  } else {
    autograd::visit_references(*image.tensor, telling);
    // Attributes last as long as either the tensor or its wrapper does.
    if (auto* wrapper = static_cast<TensorObject*>(image.tensor->python_object)) {
      telling.tell(wrapper->dict);
    }
  }
  return telling.status;
}

int clear(PyObject* self) {
  const Image& image = *cast(self);
  if (!is_true(image) || image.shared) return 0;
  if (image.node) {
    drop_node_object(*image.node);
    return 0;
  }
  auto* tensor = const_cast<TensorImpl*>(image.tensor);
  delete std::exchange(tensor->autograd, nullptr);
  if (auto* wrapper = static_cast<TensorObject*>(tensor->python_object)) Py_CLEAR(wrapper->dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};
PyType_Spec spec = {"flambeau._C._MirrorImage", sizeof(Image), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

// Collections -----------------------------------------------------------------------------------

constexpr long kOldest = 2;

/// callback(phase, info) of gc.callbacks.
PyObject* watch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    // Objects may go with it whose finalizers start a collection.
    const std::unique_ptr<Mirror> previous = std::move(mirror);
    if (count != 2 || !interpreter_alive() || detail::released_threads > 0) Py_RETURN_NONE;
    if (PyUnicode_CompareWithASCIIString(args[0], "start") != 0) Py_RETURN_NONE;
    const PyRef generation = checked(PyMapping_GetItemString(args[1], "generation"));
    if (PyLong_AsLong(generation.get()) == kOldest) mirror = make_mirror();
    Py_RETURN_NONE;
  });
}

PyMethodDef watch_definition = {"_mirror", c_function(watch), METH_FASTCALL, nullptr};

}  // namespace

bool is_mirrored() { return mirror != nullptr; }
PyObject* mirror_image(const TensorImpl& tensor) {
  return mirror ? mirror->find(&tensor) : nullptr;
}
PyObject* mirror_image(const Node& node) { return mirror ? mirror->find(&node) : nullptr; }

void add_mirror() {
  image_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  const PyRef collector = checked(PyImport_ImportModule("gc"));
  get_objects = checked(PyObject_GetAttrString(collector.get(), "get_objects")).release();
  const PyRef callbacks = checked(PyObject_GetAttrString(collector.get(), "callbacks"));
  const PyRef callback = checked(PyCFunction_New(&watch_definition, nullptr));
  checked(PyList_Append(callbacks.get(), callback.get()));
}

}  // namespace flambeau::python
