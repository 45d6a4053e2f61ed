import { COUNTRIES } from './numbering-plan.js';

/** The languages in which the usual names of columns are known (number-column.ts). */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'da', 'nb', 'sv', 'fi'] as const;

/** ISO 3166-1 alpha-3 codes that begin with the two letters of their country. */
const ALPHA_3_ALIKE =
  'AFG AIA ALB ARG ASM AUS AZE BEL BFA BGR BHR BLM BMU BOL BRA BTN BWA CAN CCK CHE CIV CMR COL CRI CUB CXR CYP CZE DEU DJI DMA DOM DZA ECU EGY ERI ESP ETH FIN FJI FRA GAB GBR GEO GGY GHA GIB GMB GRC GTM GUM HKG HND HRV HTI HUN IDN IMN IND IOT IRN ISL ITA JEY JOR JPN KEN KGZ KHM KIR KNA KWT LAO LBN LCA LIE LKA LSO LTU LUX LVA MAR MCO MDA MHL MKD MLI MMR MNG MRT MSR MUS MWI MYS NAM NCL NER NFK NGA NIC NLD NOR NPL NRU NZL OMN PAN PER PHL PRI PSE QAT REU ROU RUS RWA SAU SDN SGP SHN SJM SLE SMR SOM SSD STP SXM SYR TCA TGO THA TJK TKL TLS TON TTO TWN TZA UGA USA UZB VAT VCT VEN VGB VIR VNM VUT WSM XKX YEM ZAF ZMB ZWE';
/** The others, after the code of their country. */
const ALPHA_3_OTHER =
  'ADAND AEARE AGATG AMARM AOAGO ATAUT AWABW AXALA BABIH BBBRB BDBGD BIBDI BJBEN BNBRN BQBES BSBHS BYBLR BZBLZ CDCOD CFCAF CGCOG CKCOK CLCHL CNCHN CVCPV CWCUW DKDNK EEEST EHESH FKFLK FMFSM FOFRO GDGRD GFGUF GLGRL GNGIN GPGLP GQGNQ GWGNB GYGUY IEIRL ILISR IQIRQ JMJAM KMCOM KPPRK KRKOR KYCYM KZKAZ LRLBR LYLBY MEMNE MFMAF MGMDG MOMAC MPMNP MQMTQ MTMLT MVMDV MXMEX MZMOZ NUNIU PFPYF PGPNG PKPAK PLPOL PMSPM PTPRT PWPLW PYPRY RSSRB SBSLB SCSYC SESWE SISVN SKSVK SNSEN SRSUR SVSLV SZSWZ TDTCD TMTKM TNTUN TRTUR TVTUV UAUKR UYURY WFWLF YTMYT';

/** Names in use that the Unicode data does not list, or lists in some versions only. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  AE: ['UAE'],
  CI: ['Ivory Coast', 'Elfenbeinküste'],
  CZ: ['Czech Republic', 'Tschechische Republik', 'République tchèque', 'República Checa'],
  GB: [
    ...['UK', 'Great Britain', 'Großbritannien', 'Grande-Bretagne', 'Gran Bretaña', 'Gran Bretagna'],
    ...['England', 'Scotland', 'Wales', 'Northern Ireland'],
  ],
  MK: ['Macedonia', 'Mazedonien', 'Macédoine'],
  MM: ['Burma', 'Birma'],
  NL: ['Holland', 'Hollande', 'Holanda', 'Olanda'],
  TR: ['Turkey', 'Türkei', 'Türkiye'],
  US: ['US', 'United States of America', 'Vereinigte Staaten von Amerika', "États-Unis d'Amérique"],
};

/** Words that are in some spellings of a name only: `Trinidad & Tobago`, `The Netherlands`. */
const FILLERS = new Set(['and', 'und', 'et', 'y', 'e', 'og', 'och', 'ja', 'the']);
const MARKS = /\p{M}/gu;
const WORD_BREAKS = /[^\p{L}\p{N}]+/u;
/** Letters that have no decomposition. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', æ: 'ae', œ: 'oe', ł: 'l', ı: 'i' };

/** Countries by their codes and folded names. It is made when the first name is looked up, which takes some milliseconds. */
let table: ReadonlyMap<string, string> | undefined;
let english: Intl.DisplayNames | undefined;

/**
 * The country (two capital letters) of an ISO 3166-1 code of two or three letters, or of a name in one of {@link LANGUAGES}, such as `Deutschland`.
 * Letter case, diacritics, and punctuation make no difference. Undefined for any other text, and for regions without a numbering plan, such
 * as Antarctica. The names are those of the Unicode CLDR in the running version of Node.
 */
export function countryNamed(text: string): string | undefined {
  const code = text.trim().toUpperCase();
  if (COUNTRIES.has(code)) return code;
  table ??= tableOfNames();
  return table.get(folded(text));
}

/** The English name of a country: `Germany`. */
export function nameOfCountry(country: string): string {
  english ??= new Intl.DisplayNames('en', { type: 'region' });
  return english.of(country) ?? country;
}

/** The letters and digits of a name, without case, diacritics, and {@link FILLERS}. */
export function folded(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(MARKS, '')
    .replace(/[ßøæœłı]/g, (letter) => LETTERS[letter] ?? letter)
    .split(WORD_BREAKS);
  const telling = words.filter((word) => !FILLERS.has(word));
  // AND is the code of Andorra.
  return (telling.some((word) => word !== '') ? telling : words).join('');
}

function tableOfNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  // A name of two countries is that of the first; English names come first.
  const add = (name: string | undefined, country: string): void => {
    if (name === undefined) return;
    for (const spelling of [name, name.replace(/[äöüÄÖÜ]/g, '$&e')]) {
      const key = folded(spelling);
      if (!names.has(key)) names.set(key, country);
    }
  };
  for (const code of ALPHA_3_ALIKE.split(' ')) add(code, code.slice(0, 2));
  for (const codes of ALPHA_3_OTHER.split(' ')) add(codes.slice(2), codes.slice(0, 2));
  for (const language of LANGUAGES) {
    for (const style of ['long', 'short'] as const) {
      const display = new Intl.DisplayNames(language, { type: 'region', style, fallback: 'none' });
      for (const country of COUNTRIES) add(display.of(country), country);
    }
  }
  for (const [country, others] of Object.entries(OTHER_NAMES)) for (const name of others) add(name, country);
  return names;
}
