// The start: finds out from the address what to show.

import { readAddress } from "./address.js";
import { Api } from "./api.js";
import { showList } from "./list.js";
import { showPreview } from "./preview.js";
import { showStream } from "./stream.js";
import { tokenButton } from "./token.js";

const PAGES = {
  list: (api, host) => showList(api, host),
  stream: showStream,
  preview: (api, host) => showPreview(api, host),
};

const api = new Api();
const address = readAddress();
document.getElementById("nav").append(tokenButton(api));
PAGES[address.page](api, document.getElementById("main"), address);
