
(() => {
  "use strict";
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const ready = () => {
    const form = document.querySelector("form.filter");
    const groups = all("article.group");
    if (form) {
      form.hidden = false;
      const words = form.querySelector("input[type=search]");
      const boxes = all("input[type=checkbox]", form);
      const count = form.querySelector(".count");
      const apply = () => {
        const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
        const text = words.value.trim().toLowerCase();
        let shown = 0;
        for (const group of groups) {
          let any = false;
          const head = group.querySelector("h4").textContent.toLowerCase();
          for (const item of all("details.finding", group)) {
            const fits = !text || head.includes(text) || item.textContent.toLowerCase().includes(text);
            item.hidden = !fits;
            any = any || fits;
          }
          group.hidden = !wanted.has(group.dataset.severity) || !(any || head.includes(text));
          shown += group.hidden ? 0 : 1;
        }
        count.textContent = shown === groups.length ? "" : `${shown} of ${groups.length} groups`;
      };
      form.addEventListener("input", apply);
      form.addEventListener("submit", (event) => event.preventDefault());
    }
    const reveal = (target) => {
      for (let node = target; node; node = node.parentElement) {
        if (node.tagName === "DETAILS") node.open = true;
      }
    };
    const follow = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target) return;
      reveal(target);
      const row = target.matches("g.row") ? target : null;
      target.scrollIntoView({ block: row ? "center" : "start" });
      all("g.row.at").forEach((old) => old.classList.remove("at"));
      if (row) row.classList.add("at");
    };
    addEventListener("hashchange", follow);
    if (location.hash) follow();
    const findings = () => all("details.finding").filter((item) => item.offsetParent);
    const move = (step) => {
      const items = findings();
      if (!items.length) return;
      const now = items.findIndex((item) => item.contains(document.activeElement));
      const next = items[now < 0 ? (step > 0 ? 0 : items.length - 1) : (now + step + items.length) % items.length];
      next.open = true;
      next.querySelector("summary").focus();
      next.scrollIntoView({ block: "center" });
    };
    addEventListener("keydown", (event) => {
      const typing = event.target.matches("input[type=search]");
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (typing) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      if (event.key === "n") move(1);
      else if (event.key === "p") move(-1);
      else if (event.key === "o") {
        const items = all("details.finding");
        const open = !items.every((item) => item.open);
        items.forEach((item) => { item.open = open; });
      } else if (event.key === "/" && form) {
        event.preventDefault();
        form.querySelector("input[type=search]").focus();
      }
    });
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = all("details:not([open])").filter((item) => !item.matches(".block"));
      closed.forEach((item) => { item.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((item) => { item.open = false; }));
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", ready);
  else ready();
})();
