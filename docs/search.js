/* Search that also works for pages opened from disk: its documents come as a script. */
(function () {
  "use strict";

  function load(name, then) {
    var script = document.createElement("script");
    script.src = base_url.replace(/\/$/, "") + "/search/" + name;
    script.onload = then;
    document.head.appendChild(script);
  }

  function indexed() {
    return lunr(function () {
      this.ref("place");
      this.field("title", { boost: 20 });
      this.field("text");
      this.tokenizer.separator = /[\s\-.,:;()\[\]{}"'`=*+\/]+/;
      this.pipeline.remove(lunr.stopWordFilter);
      for (var i = 0; i < documents.length; i++) {
        this.add({ place: i, title: documents[i].title, text: documents[i].text });
      }
    });
  }

  function found(index, words) {
    return index.query(function (query) {
      words.forEach(function (word) {
        query.term(lunr.tokenizer(word), { boost: 10 });
        query.term(word, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
      });
    });
  }

  function excerpt(text, words) {
    var at = text.toLowerCase().indexOf(words[0]);
    var from = Math.max(0, at - 80);
    return (from ? "… " : "") + text.slice(from, from + 220) + (text.length > from + 220 ? " …" : "");
  }

  function named(hit) {
    var anchor = hit.location.split("#")[1] || "";
    return anchor.indexOf("credo.") === 0 ? anchor : hit.title;
  }

  function show(results, words, box) {
    box.textContent = results.length ? "" : "Nothing found.";
    results.slice(0, 60).forEach(function (result) {
      var hit = documents[Number(result.ref)];
      var article = document.createElement("article");
      var title = document.createElement("h3");
      var link = document.createElement("a");
      var text = document.createElement("p");
      link.href = base_url.replace(/\/$/, "") + "/" + hit.location;
      link.textContent = named(hit);
      text.textContent = excerpt(hit.text, words);
      title.appendChild(link);
      article.append(title, text);
      box.appendChild(article);
    });
  }

  function start() {
    var box = document.getElementById("mkdocs-search-results");
    if (!box) return;
    var input = document.getElementById("mkdocs-search-query");
    var index = indexed();
    function ask() {
      var words = input.value.toLowerCase().split(/[\s.,()`]+/).filter(Boolean);
      if (words.length) show(found(index, words), words, box);
    }
    input.value = new URLSearchParams(window.location.search).get("q") || "";
    input.addEventListener("input", ask);
    ask();
  }

  if (document.getElementById("mkdocs-search-results")) {
    load("lunr.js", function () { load("documents.js", start); });
  }
})();
