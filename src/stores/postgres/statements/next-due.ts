/** How long from :now until something is due that is not excluded; no row where nothing is. */
export const NEXT_DUE = /* sql */ `
SELECT due - :now AS ahead FROM {schema}.messages
WHERE due IS NOT NULL AND key NOT IN (SELECT decode(hex, 'hex') FROM unnest(:exclude::text[]) AS hex)
ORDER BY due, id LIMIT 1;
`
