// Keeps the page up to date and makes it quick to use. Without this script the page
// still works: links lead, forms are sent. Markup comes from the server only, made
// by the same templates as the page; words that people wrote reach the page through
// textContent and values, never as markup.
"use strict";

(() => {
  const body = document.body;
  const $ = (id) => document.getElementById(id);
  const words = $("words"), composer = $("composer"), scroll = $("scroll"), messages = $("messages");
  const base = body.dataset.base;
  let chosen = body.dataset.turn;

  // --- the stream: pieces of the page that changed -------------------------------

  let stream, first = true, lostTimer;

  const gentle = {
    morphStyle: "outerHTML",
    callbacks: {
      // What a person unfolded or uncovered stays so.
      beforeAttributeUpdated: (name, node) => !(node.tagName === "DETAILS" && name === "open") && !(name === "class" && node.classList.contains("spoiler")) && !(name === "tabindex" && node.matches(".line")),
      // A player in use is left alone.
      beforeNodeMorphed: (old, fresh) => !(old.nodeType === 1 && old.matches("audio, video") && old.getAttribute("src") === fresh.getAttribute("src")),
    },
  };

  function fragment(html) {
    const t = document.createElement("template");
    t.innerHTML = html;
    return t.content.firstElementChild;
  }

  function apply(change) {
    if (change.title) document.title = change.title;
    const put = change.put || {};
    const grew = document.querySelector("#signs .body"); // a draft that becomes a message was there already
    for (const id in put) {
      const old = $(id);
      if (old) Idiomorph.morph(old, put[id], gentle);
    }
    if (change.order) arrange(change.order, put, first || grew);
    first = false;
    marks();
  }

  // arrange brings the conversation into the given order: new entries come in, those
  // that are gone leave, all others stay the elements that they are.
  function arrange(order, put, still) {
    const keep = new Set(order);
    for (const e of [...messages.children]) if (!keep.has(e.id)) e.remove();
    let at = messages.firstElementChild;
    for (const id of order) {
      let e = $(id);
      if (!e && put[id]) {
        e = fragment(put[id]);
        if (!still) e.classList.add("fresh");
      }
      if (!e) continue;
      if (e !== at) messages.insertBefore(e, at);
      else at = at.nextElementSibling;
    }
  }

  function listen() {
    if (stream || document.hidden) return;
    stream = new EventSource(base + "/live?turn=" + encodeURIComponent(chosen));
    stream.addEventListener("hello", (e) => {
      clearTimeout(lostTimer);
      lostTimer = undefined;
      $("lost").hidden = true;
      if (JSON.parse(e.data) !== body.dataset.boot) location.reload(); // another process: its tokens and messages are others
    });
    stream.addEventListener("change", (e) => apply(JSON.parse(e.data)));
    stream.addEventListener("error", () => {
      lostTimer ??= setTimeout(() => { $("lost").hidden = false; }, 2500); // a short gap is nobody's business
      if (stream && stream.readyState === EventSource.CLOSED) { // the server answered with an error: the place is gone
        hush();
        setTimeout(listen, 2000);
      }
    });
  }

  function hush() {
    if (stream) stream.close();
    stream = undefined;
  }

  // A page that nobody sees reads nothing, so what comes meanwhile stays unread.
  document.addEventListener("visibilitychange", () => document.hidden ? hush() : listen());
  addEventListener("pagehide", hush);
  addEventListener("pageshow", (e) => { if (e.persisted) listen(); });

  // --- sending -------------------------------------------------------------------

  async function post(url, data) {
    let answer;
    try {
      answer = await fetch(url, { method: "POST", body: data, headers: { "X-Token": body.dataset.token } });
    } catch {
      return "The demo does not answer; what you wrote is still here.";
    }
    return answer.ok ? "" : (await answer.text()).trim();
  }

  function complain(why) {
    $("wrong").textContent = why;
    $("wrong").hidden = !why;
  }

  let sending = false;
  async function send() {
    if (sending || (!words.value.trim() && !$("file").files.length)) return;
    const data = new FormData(composer);
    if (!$("file").files.length) data.delete("file");
    const url = $("message").value ? composer.dataset.edit : composer.dataset.say;
    const kept = words.value;
    sending = true;
    words.value = "";
    grow();
    const why = await post(url, data);
    sending = false;
    complain(why);
    if (why) {
      words.value = kept + (words.value ? "\n" + words.value : "");
      grow();
      return;
    }
    leave();
    drop();
    remember();
    scroll.scrollTop = 0;
  }

  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (form === composer) {
      e.preventDefault();
      send();
    } else if (form.matches("[data-quiet]")) {
      e.preventDefault();
      const data = new FormData(form, e.submitter);
      complain(await post(form.action, data));
    }
  });

  // --- the composer --------------------------------------------------------------

  const grows = CSS.supports("field-sizing", "content");
  function grow() {
    if (grows) return;
    words.style.height = "auto";
    words.style.height = words.scrollHeight + 2 + "px";
  }

  // What is written and not sent waits in its place.
  function remember() {
    try {
      if (words.value && !$("message").value) sessionStorage.setItem(base, words.value);
      else sessionStorage.removeItem(base);
    } catch { /* a browser without storage forgets */ }
  }
  function recall() {
    try { words.value = words.value || sessionStorage.getItem(base) || ""; } catch { /* as above */ }
    grow();
  }

  function about(name, text) {
    $("about-name").textContent = name;
    $("about-words").textContent = text;
    $("about").hidden = false;
    words.focus();
  }

  // leave ends a reply or an edit.
  function leave() {
    if ($("message").value) words.value = "";
    for (const id of ["reply", "quote", "message"]) $(id).value = "";
    $("about").hidden = true;
    grow();
  }

  function drop() {
    $("file").value = "";
    $("held").hidden = true;
  }

  function hold() {
    if ($("file").files[0]?.size > 20e6) {
      drop();
      complain("That file is too large; up to 20 MB can be sent.");
    }
    const f = $("file").files[0];
    $("held").hidden = !f;
    if (f) $("held-name").textContent = f.name;
    words.focus();
  }

  const textOf = (line) => line.querySelector(".body")?.innerText || "";

  function reply(line) {
    leave();
    const marked = getSelection();
    const inside = marked && !marked.isCollapsed && line.querySelector(".body")?.contains(marked.anchorNode) && line.contains(marked.focusNode);
    $("reply").value = line.dataset.message;
    $("quote").value = inside ? marked.toString() : "";
    const who = line.querySelector(".name bdi")?.textContent || line.getAttribute("aria-label").replace(/, [^,]*$/, "");
    about("Reply to " + who, $("quote").value || textOf(line));
  }

  function edit(line) {
    if (!line || !("mine" in line.dataset)) return;
    leave();
    $("message").value = line.dataset.message;
    words.value = textOf(line);
    grow();
    about("Edit your message", textOf(line));
    words.setSelectionRange(words.value.length, words.value.length);
  }

  words.addEventListener("input", () => { grow(); remember(); complain(""); });
  words.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.altKey && !e.isComposing) {
      e.preventDefault();
      send();
    } else if (e.key === "ArrowUp" && !words.value && e.shiftKey && !e.altKey) {
      e.preventDefault();
      e.stopPropagation();
      step(null, -1);
    } else if (e.key === "ArrowUp" && !words.value && !e.altKey) {
      const own = messages.querySelectorAll("[data-mine]");
      if (own.length) {
        e.preventDefault();
        edit(own[own.length - 1]);
      }
    }
  });
  words.addEventListener("paste", (e) => take(e.clipboardData.files, e));
  $("file").addEventListener("change", hold);
  $("about-close").addEventListener("click", () => { leave(); words.focus(); });
  $("held-close").addEventListener("click", () => { drop(); words.focus(); });

  function take(list, e) {
    if (!list.length) return;
    e.preventDefault();
    const one = new DataTransfer();
    one.items.add(list[0]);
    $("file").files = one.files;
    hold();
  }
  addEventListener("dragover", (e) => { e.preventDefault(); body.classList.add("dropping"); });
  addEventListener("dragleave", (e) => { if (!e.relatedTarget) body.classList.remove("dropping"); });
  addEventListener("drop", (e) => { e.preventDefault(); body.classList.remove("dropping"); take(e.dataTransfer.files, e); });

  // --- walking about -------------------------------------------------------------

  function view(name) {
    body.dataset.view = name;
    if (name === "chat" && matchMedia("(hover: hover)").matches) words.focus();
  }

  function choose(id) {
    chosen = id;
    hush();
    listen();
  }

  function jump(id) {
    const e = $(id);
    if (!e) return;
    e.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    e.classList.remove("flash");
    requestAnimationFrame(() => e.classList.add("flash"));
  }

  document.addEventListener("click", (e) => {
    const hit = (what) => e.target.closest(what);
    if (e.ctrlKey || e.metaKey) return;
    let x;
    if ((x = hit("[data-turn]")) && x !== body) { e.preventDefault(); choose(x.dataset.turn); view("sheet"); }
    else if ((x = hit("[data-view]")) && x !== body) { e.preventDefault(); view(x.dataset.view); }
    else if ((x = hit("[data-jump]"))) { e.preventDefault(); jump(x.dataset.jump); }
    else if ((x = hit("[data-reply]"))) reply(x.closest(".line"));
    else if ((x = hit("[data-edit]")) && x !== composer) edit(x.closest(".line"));
    else if ((x = hit("button[data-say]"))) { words.value = x.dataset.say; grow(); words.focus(); }
    else if (hit("[data-help]")) $("help").showModal();
    else if ((x = hit(".spoiler"))) x.classList.add("read");
  });
  document.addEventListener("mousedown", (e) => { // a click on "reply" keeps the words that are marked
    if (e.target.closest("[data-reply]")) e.preventDefault();
  });
  document.addEventListener("dblclick", (e) => {
    const line = e.target.closest(".line");
    if (line && !e.target.closest(".body, a, button, audio, video")) reply(line);
  });
  $("help").addEventListener("click", (e) => { if (e.target === $("help")) $("help").close(); });
  $("newest").addEventListener("click", () => { scroll.scrollTop = 0; words.focus(); });

  function marks() { $("newest").hidden = scroll.scrollTop > -240; }
  scroll.addEventListener("scroll", marks, { passive: true });

  const lines = () => [...messages.querySelectorAll(".line")];
  function step(from, by) {
    const all = lines();
    const next = all[from ? all.indexOf(from) + by : all.length - 1];
    if (!next) { if (by > 0) words.focus(); return; }
    for (const l of all) l.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  function neighbour(by) {
    const rows = [...document.querySelectorAll(".row")];
    const next = rows[rows.findIndex((r) => r.hasAttribute("aria-current")) + by];
    if (next) next.click();
  }

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.isComposing) return;
    const typing = e.target.matches("textarea, input");
    const line = e.target.closest?.(".line");
    const digit = /^Digit([1-9])$/.exec(e.code);
    const done = () => e.preventDefault();
    if ($("help").open) { if (e.key === "?") { done(); $("help").close(); } return; }
    if (digit && (e.altKey || (!typing && !e.shiftKey))) {
      const v = document.querySelector(`[data-voice="${digit[1]}"]`);
      if (v) { done(); v.click(); }
    } else if (e.altKey && e.key === "ArrowUp") { done(); neighbour(-1); }
    else if (e.altKey && e.key === "ArrowDown") { done(); neighbour(1); }
    else if (e.key === "Escape") {
      if (!$("about").hidden || !$("held").hidden) { leave(); drop(); }
      else if (body.dataset.view === "sheet") view("chat");
      words.focus();
    } else if (typing || e.altKey) return;
    else if (e.key === "?") { done(); $("help").showModal(); }
    else if (e.key === "/") { done(); words.focus(); }
    else if (line && e.key === "r") { done(); reply(line); }
    else if (line && e.key === "e") { done(); edit(line); }
    else if (line && e.key === "t") { done(); choose(line.dataset.message); view("sheet"); }
    else if ((line || e.target === scroll) && e.key === "ArrowUp") { done(); step(line, -1); }
    else if (line && e.key === "ArrowDown") { done(); step(line, 1); }
    else if (e.key === "Enter" && e.target.matches(".spoiler")) e.target.classList.add("read");
  });

  recall();
  listen();
})();
