// Filters as one types: asks for the page with the new filter and puts its list in the place of the one shown.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  let pending, timer;
  const show = async () => {
    pending?.abort();
    pending = new AbortController();
    const query = "?" + new URLSearchParams(new FormData(form));
    try {
      const answer = await fetch(query, { signal: pending.signal, headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error("answered " + answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const list = page.getElementById("instances");
      if (!list) throw new Error("answered another page");
      const found = document.getElementById("found");
      // The line that tells of the result stays the same element, so that screen readers hear it change.
      found.textContent = page.getElementById("found").textContent;
      page.getElementById("found").replaceWith(found);
      document.getElementById("instances").replaceWith(document.adoptNode(list));
      history.replaceState(null, "", query);
    } catch (error) {
      if (error.name !== "AbortError") document.getElementById("found").textContent = "The list could not be read: " + error.message;
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    show();
  });
})();
