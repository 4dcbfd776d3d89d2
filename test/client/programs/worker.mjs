/** On Workers: answers with the report. */
import { tryOut } from './on-any-runtime.mjs'

export default {
  fetch: async (_request, { URLS }) => Response.json(await tryOut(JSON.parse(URLS))),
}
