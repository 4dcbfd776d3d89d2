/** On Node, Bun and Deno: prints the report. */
import process from 'node:process'
import { tryOut } from './on-any-runtime.mjs'

console.log(JSON.stringify(await tryOut(JSON.parse(process.env.URLS ?? ''))))
